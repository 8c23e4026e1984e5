import type { Timestamp } from '../contract/ids.js';
import type { HoldOrder, Placed, StopOrder } from '../contract/plan.js';
import type { Snapshot, SnapshotPending, SnapshotRunning } from '../contract/snapshot.js';
import type { ExpectedStart } from '../contract/why.js';
import { budgetRule, byStart } from './budget-rule.js';
import type { FairShare } from './fair-share.js';
import { type GuaranteeBook, guaranteeBook, noteDropped, notePromised } from './guarantee-book.js';
import { isEntitled, reclaimRule } from './guarantee-reclaim.js';
import { msOf } from './moments.js';
import type { Ranking } from './ranking.js';
import type { Room } from './rooms.js';
import { type Candidate, candidatesOf, policyRule, type VictimRule, victimOrder } from './victims.js';

type Base = Pick<Snapshot, 'group' | 'nodes' | 'running' | 'guarantees' | 'holds'>;

/** What the pass has decided so far; read anew at each call. */
export interface PassSoFar {
  /** What is left now, less what is kept of everybody's held room. */
  readonly ranking: Ranking;
  /** Held rooms whole, and what of each is kept already: the rest is what its victims still have. */
  readonly heldRooms: ReadonlyMap<string, { readonly kernels: readonly Room[]; readonly kept: readonly Room[] }>;
  readonly stops: readonly StopOrder[];
  readonly droppedHolds: readonly string[];
  /** Everybody who got room in this pass, also his own held room. */
  readonly placed: readonly Pick<Placed, 'sessionId' | 'kernels'>[];
  /** Where it is set budgets say who stops whom, and nothing else does. */
  readonly fairShare?: FairShare | null;
}

/** Who is told to end for the session, and the room that is kept for it meanwhile. */
export interface Victims {
  readonly stops: readonly StopOrder[];
  readonly hold: HoldOrder;
  readonly message: string;
  readonly expectedStart: ExpectedStart;
}

/** Nobody is stopped: why, and when at the earliest enough of those that are still protected may be stopped. */
export interface NoVictims {
  readonly none: string;
  readonly earliest: Timestamp | null;
  readonly expectedStart: ExpectedStart;
}

/** Those that a rule lets a session stop, by when. */
export interface Offer {
  /** Now, first victim first; those that were told to end since are among them. */
  readonly open: readonly Candidate[];
  /** Now, but their project is left with less than it is guaranteed. */
  readonly closed: readonly Candidate[];
  /** Still protected, the first to lose its protection first. */
  readonly later: readonly Candidate[];
  readonly starting: readonly Candidate[];
  /** What there is when all the open ones are gone. */
  readonly ceiling: Ranking;
  /** The open ones by node, each with its place among all of them; those that were told to end since are still in it. */
  readonly openOn: ReadonlyMap<string, readonly Ranked[]>;
  /** By shape, how far the run of the open ones goes that frees each node: see `least-on-one-node.ts`. */
  readonly runs: Map<string, RunMemory>;
  /** The open ones when it was made: all of them are gone in the ceiling. */
  readonly counted: ReadonlySet<Candidate>;
  /** How many were known to end when the lists were made. */
  readonly asOf: number;
}

/** Per node the place of the last one of its shortest run: -1 when nobody has to go, Infinity when all do not suffice. */
export interface RunMemory {
  readonly last: Float64Array;
  /** Of `WhenLeft.changes`; -1 where nothing is known. */
  readonly asOf: Int32Array;
}

export interface Ranked {
  readonly candidate: Candidate;
  readonly rank: number;
}

/** What is left once those that end already are gone, and everybody has the room that is held for him. */
export interface WhenLeft {
  readonly ranking: Ranking;
  /** Holders whose rooms are taken in it. */
  readonly holders: Set<string>;
  /** How often each node has changed in it. */
  readonly changes: Int32Array;
}

/** Preemption in one pass: who may be stopped, who was told to end, and what was looked for in vain. */
export interface Preemption {
  readonly base: Base;
  readonly nowMs: number;
  readonly pass: PassSoFar;
  readonly fairShare: FairShare | null;
  readonly book: GuaranteeBook | null;
  /** Everybody who may be stopped at all, first victim first. */
  readonly candidates: readonly Candidate[];
  readonly byId: ReadonlyMap<string, SnapshotRunning>;
  /** Sessions that end already, or were told to end in this pass: their room comes without stopping anybody. */
  readonly leaving: Map<string, SnapshotRunning>;
  /** By rule and shape: room hardly grows within a pass, so what was not found once is not looked for again. */
  readonly inVain: Map<string, NoVictims>;
  readonly offers: Map<string, Offer>;
  /** Made when first asked for, then kept up to date by `catchUp`. */
  whenLeft: WhenLeft | undefined;
  /** For whom room was found last: the caller keeps it for him. */
  lastHolder: string | null;
  seenStops: number;
  seenDrops: number;
  seenPlaced: number;
}

export function preemptionOf(base: Base, now: Timestamp, pass: PassSoFar): Preemption {
  const nowMs = msOf(now);
  const { fairShare = null } = pass;
  const compare = fairShare === null ? victimOrder(base.group.policy.preemption.order, nowMs) : byStart;
  return {
    base,
    nowMs,
    pass,
    fairShare,
    book: guaranteeBook(base, nowMs),
    candidates: candidatesOf(base.running, compare, nowMs),
    byId: new Map(base.running.map((session) => [session.id, session])),
    leaving: new Map(base.running.filter(({ goneBy }) => goneBy !== null).map((session) => [session.id, session])),
    inVain: new Map(),
    offers: new Map(),
    whenLeft: undefined,
    lastHolder: null,
    seenStops: 0,
    seenDrops: 0,
    seenPlaced: 0,
  };
}

/** Whom the session may stop by the group's policy, or to take back what its project is guaranteed; null: nobody. */
export function ruleFor(preemption: Preemption, session: SnapshotPending): VictimRule | null {
  const { base, nowMs, book, fairShare } = preemption;
  if (fairShare !== null) return budgetRule(fairShare, session);
  const policy = policyRule(base.group.policy.preemption, session, nowMs);
  if (!isEntitled(book, session)) return policy;
  const compare = victimOrder(base.group.policy.preemption.order, nowMs);
  return reclaimRule({ book, requester: session, policy, compare });
}

/** To be called for each session that this pass places, or that keeps its held room: it counts against the guarantees of others. Twice is once. */
export function noteRoom({ book }: Preemption, session: SnapshotPending): void {
  if (book !== null) notePromised(book, session);
}

/** Its hold was given up; it may get other room later in the pass. */
export function noteNoRoom({ book }: Preemption, sessionId: string): void {
  if (book !== null) noteDropped(book, sessionId);
}
