import type { Reservation, Waiting } from '../contract/plan.js';
import type { SnapshotPending } from '../contract/snapshot.js';
import type { ExpectedStart } from '../contract/why.js';
import { backfillOf, reserve } from './backfill.js';
import type { Told } from './consider.js';
import { decayOf, decayStops } from './decay.js';
import type { Demand } from './demand.js';
import { explainBlocked, type Refusal } from './explain-blocked.js';
import type { Head } from './fair-share.js';
import type { Pass } from './pass.js';
import { type NotFound, seekerOf } from './place-now.js';
import type { NoVictims } from './preemption.js';
import { refuseDelay } from './refuse-delay.js';
import { emptyNodes } from './standing-refusals.js';
import { isAllocated } from './under-budgets.js';

/** Reservations that one pass makes at most. Those behind them start only where they delay none of them. */
export const RESERVATIONS_MAX = 2_000;

interface Block {
  readonly demand: Demand;
  readonly shape: string;
  readonly notFound: NotFound;
  /** Why nobody is stopped for it, where somebody might be. */
  readonly none: NoVictims | null;
}

/**
 * A session that finds no room now. By the policy the pass stops at it, or it gets a reservation and the pass goes on:
 * the first one only (easy), or each one (conservative). One whose start has no bound lets nobody pass.
 */
export function blocked(pass: Pass, session: SnapshotPending, block: Block): Told {
  const { policy } = pass.base.group;
  const isHead = !pass.headSeen;
  const isFull = typeof block.notFound === 'string';
  const decay = isHead && isFull ? decayOf(session, policy, pass.clock) : null;
  if (isFull) pass.headSeen = true;
  const reservation = reservationFor(pass, session, block);
  pass.fairShare?.unplaced.push({ session, index: pass.waiting.length });
  const refusal = refusalOf(pass, session, block);
  // Each field by name: copies of a common part would be a good part of a pass in which thousands wait.
  return {
    reason: refusal.reason,
    message: refusal.message,
    blockers: refusal.blockers,
    violations: refusal.violations,
    nodes: refusal.nodes,
    expectedStart: expectedOf(pass, reservation),
    decay: decay ?? (isHead ? null : decayStops(session)),
  };
}

type Outcome = Reservation | 'unbounded' | 'for-the-first-only' | 'for-allocated-only' | 'enough';

function reservationFor(pass: Pass, session: SnapshotPending, { demand, shape }: Block): Outcome {
  const { backfill: mode } = pass.base.group.policy;
  if (mode === 'none') {
    pass.blockedBy = session.id;
    return pass.base.running.length > 0 ? (lookOnly(pass, session, { demand, shape }) ?? 'unbounded') : 'unbounded';
  }
  pass.backfill ??= backfillOf(pass);
  const { reservations } = pass.backfill;
  const { fairShare } = pass;
  if (mode === 'easy' && fairShare !== null && !isAllocated(session)) return 'for-allocated-only';
  if (mode === 'easy' && reservations.length > 0) return 'for-the-first-only';
  if (reservations.length >= RESERVATIONS_MAX) return 'enough';
  const reservation = reserve(pass.backfill, seekerOf(pass, session, { demand, shape }));
  // Under fair share everybody is considered: a start that has no bound cannot be moved.
  if (reservation === null && fairShare === null) pass.blockedBy = session.id;
  return reservation ?? 'unbounded';
}

/** Without backfill nothing is reserved, but the first one's start is told where it has a bound. */
function lookOnly(pass: Pass, session: SnapshotPending, asked: Pick<Block, 'demand' | 'shape'>): Reservation | null {
  return reserve(backfillOf(pass), seekerOf(pass, session, asked));
}

function expectedOf(pass: Pass, outcome: Outcome): ExpectedStart {
  if (typeof outcome === 'object') return { at: outcome.at, basis: outcome.basis };
  switch (outcome) {
    case 'unbounded':
      return { at: null, basis: unboundedBasis(pass) };
    case 'for-the-first-only':
      return firstOnly(pass);
    case 'for-allocated-only':
      return FOR_ALLOCATED_ONLY;
    case 'enough':
      return { at: null, basis: `unknown, because only the first ${RESERVATIONS_MAX} blocked sessions are looked at` };
  }
}

const unknown = (basis: string): ExpectedStart => ({ at: null, basis: `unknown, because ${basis}` });
const FOR_ALLOCATED_ONLY = unknown('unallocated work gets what allocated work leaves');
const FIRST_ONLY = unknown('easy backfill keeps room for the first blocked session only');
/** One text for all that wait behind one head. */
const BEHIND = new WeakMap<Head, ExpectedStart>();

function firstOnly({ fairShare }: Pass): ExpectedStart {
  if (fairShare === null) return FIRST_ONLY;
  const text = (first: string): ExpectedStart =>
    unknown(`only ${first} holds its claim time: the order changes with the budgets' use`);
  const { head } = fairShare;
  if (head === null) return text('the first in order');
  let known = BEHIND.get(head);
  if (known === undefined) BEHIND.set(head, (known = text(head.session.name)));
  return known;
}

/** Why no start is known: who has no maximum runtime, if that can be seen. */
export function unboundedBasis({ base, running: now }: Pick<Pass, 'base' | 'running'>): string {
  const running = base.running.map((session) => now.get(session.id) ?? session);
  if (running.length === 0) return 'unknown, because nothing is known here of those who have the room';
  const endless = running.filter(({ maxRuntimeSeconds, goneBy }) => maxRuntimeSeconds === null && goneBy === null);
  const [first] = endless;
  if (first === undefined) return 'unknown, because the room that it needs is not freed by those who run';
  const others = endless.length > 1 ? ` and ${endless.length - 1} more` : '';
  return `unknown, because ${first.name}${others} ${endless.length > 1 ? 'have' : 'has'} no maximum runtime`;
}

/** Lack of room is explained at the end of the pass. */
function refusalOf(pass: Pass, session: SnapshotPending, { demand, shape, notFound }: Block): Refusal {
  if (typeof notFound === 'object') {
    const reservations = pass.backfill?.reservations ?? [];
    return refuseDelay({ session, where: notFound.where, reservations, nowMs: pass.clock.nowMs });
  }
  pass.unexplained.push({ index: pass.waiting.length, shape, demand, gaveUp: notFound === 'gave-up' });
  return NOT_EXPLAINED;
}

const NOT_EXPLAINED: Refusal = {
  reason: 'insufficient_capacity',
  message: '',
  blockers: [],
  violations: [],
  nodes: null,
};

/** Why those without room find none in what is left. A second call changes nothing. */
export function explainAll(pass: Pass): void {
  const told = new Map<string, Refusal>();
  const { name: group, policy } = pass.base.group;
  for (const { index, shape, demand, gaveUp } of pass.unexplained) {
    const key = gaveUp ? `gave up ${shape}` : shape;
    let refusal = told.get(key);
    if (refusal === undefined) {
      const tables = { now: pass.nodes, empty: emptyNodes(pass.standing) };
      refusal = explainBlocked({ ...tables, group, slotOrder: policy.slotOrder, gaveUp }, demand);
      told.set(key, refusal);
    }
    const waiting = pass.waiting[index] as Waiting;
    waiting.reason = refusal.reason;
    waiting.message = refusal.message;
    waiting.blockers = refusal.blockers;
    waiting.nodes = refusal.nodes;
    waiting.nearest = refusal.nearest ?? null;
  }
}
