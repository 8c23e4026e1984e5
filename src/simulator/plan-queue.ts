import type { GroupPolicy } from '../contract/group-policy.js';
import type { Plan, Waiting } from '../contract/plan.js';
import type { Snapshot, SnapshotPending } from '../contract/snapshot.js';
import { decayOf } from '../scheduler/decay.js';
import { alarm, msOf, timestampOrNull } from '../scheduler/moments.js';
import { needsRunning, needsWholeQueue } from '../scheduler/needs-running.js';
import { considerPage, finishPass, type Pass, startPass } from '../scheduler/plan-pass.js';
import type { FreeGauge } from './free-gauge.js';
import type { KeptNodes } from './kept-nodes.js';
import type { WaitingQueue } from './waiting-queue.js';

const PAGE = 256;

/** The group at one moment. */
export interface Moment {
  readonly now: string;
  readonly policy: GroupPolicy;
  readonly queue: WaitingQueue;
  readonly hasHolds: boolean;
  /** Who waits for room that is kept for him. */
  readonly holders: () => ReadonlySet<string>;
  /** All that a pass decides from but the queue, with or without those who run. */
  readonly base: (withRunning: boolean) => Omit<Snapshot, 'pending'>;
  /** What is free now; moved as the pass places. */
  readonly free: FreeGauge;
  /** The same nodes with nobody on them. */
  readonly empty: FreeGauge;
  /** Asked for only where `maySift`. */
  readonly kept: () => KeptNodes;
}

/** What of a plan is carried out. */
export interface Decisions extends Pick<Plan, 'placed' | 'ends' | 'stops' | 'holds' | 'droppedHolds' | 'nextWakeAt'> {
  readonly waiting: readonly Pick<Waiting, 'sessionId' | 'reason' | 'decay'>[];
  /** False: it could be seen without a pass that nobody starts. */
  readonly isPass: boolean;
}

/**
 * Whether those who surely find no room need not be shown to the pass: being refused for that reason changes nothing for
 * the others, unless somebody may be stopped for them, room is kept for each of them, or they end while they wait.
 */
export const maySift = ({ policy, hasHolds }: Pick<Moment, 'policy' | 'hasHolds'>): boolean =>
  policy.order === 'fifo' &&
  policy.backfill !== 'conservative' &&
  policy.decay.by !== 'time' &&
  policy.maxWaitSeconds === null &&
  !(policy.preemption.enabled || policy.guarantees.length > 0 || policy.paused || hasHolds);

const flagsOf = ({ hasHolds }: Pick<Moment, 'hasHolds'>) => ({
  hasHolds,
  hasDrains: false,
  hasFailedDependencies: false,
  hasReplicaGroups: false,
});

/** As the product's planning activity reads the queue: in pages, and no further than somebody who stops the pass. */
export function planWhole(moment: Moment): Decisions {
  const { policy, now, queue } = moment;
  const flags = flagsOf(moment);
  const pass = startPass(moment.base(needsRunning(policy, flags)), now);
  const isReadToItsEnd = needsWholeQueue(policy, flags);
  for (let from = 0; ; from += PAGE) {
    const page = queue.slice(from, from + PAGE);
    const goesOn = considerPage(pass, page);
    if (page.length === 0 || !(goesOn || isReadToItsEnd)) return { ...finishPass(pass), isPass: true };
  }
}

/** The same decisions, where `maySift` allows it: only those are considered of whom it cannot be seen that they find no room. */
export function planSifted(moment: Moment): Decisions {
  const sift = new Sift(moment);
  for (let i = 0; ; i += 1) {
    const session = moment.queue.at(i);
    if (session === undefined || !sift.next(session)) return sift.decisions();
  }
}

class Sift {
  readonly #moment: Moment;
  #pass: Pass | null = null;
  #placed = 0;
  /** The first without room: it stops the pass, or room is kept for it. */
  #head: { readonly session: SnapshotPending; isConsidered: boolean } | null = null;

  constructor(moment: Moment) {
    this.#moment = moment;
  }

  /** False: nobody behind it is looked at. */
  next(session: SnapshotPending): boolean {
    const { free, empty, policy } = this.#moment;
    const mayStart = free.mayHold(session) || !empty.surelyHolds(session);
    if (this.#head === null) {
      if (mayStart) return this.#considerFirst(session);
      this.#head = { session, isConsidered: false };
      return policy.backfill !== 'none';
    }
    if (!mayStart) return true;
    if (!this.#head.isConsidered) {
      this.#head.isConsidered = true;
      if (!this.#consider(this.#head.session)) return false;
    }
    return this.#consider(session);
  }

  /** The gauge is as it was again: who starts takes his room when the plan is carried out. */
  decisions(): Decisions {
    for (const { kernels } of this.#pass?.placed ?? []) this.#moment.free.move(kernels, 1);
    const plan = this.#pass === null ? NOTHING : decisionsOf(this.#pass);
    if (this.#head === null || this.#head.isConsidered) return plan;
    const { session } = this.#head;
    const decay = decayOf(session, this.#moment.policy, alarm(msOf(this.#moment.now)));
    const waits = { sessionId: session.id, reason: 'insufficient_capacity' as const, decay };
    return { ...plan, waiting: [...plan.waiting, waits] };
  }

  /** Before anybody was found to have no room. */
  #considerFirst(session: SnapshotPending): boolean {
    const goesOn = this.#consider(session);
    if (this.#pass?.headSeen === true) this.#head = { session, isConsidered: true };
    return goesOn;
  }

  #consider(session: SnapshotPending): boolean {
    const kept = this.#moment.kept();
    this.#pass ??= kept.passAt(this.#moment.now);
    // One kernel of which the gauge says that it may be held is placed, whatever others may take later.
    const isSure = this.#head === null && session.kernels.length === 1 && this.#moment.free.mayHold(session);
    if (!isSure) kept.foresee(this.#pass);
    const goesOn = considerPage(this.#pass, [session]);
    for (; this.#placed < this.#pass.placed.length; this.#placed += 1)
      this.#moment.free.move(this.#pass.placed[this.#placed]?.kernels ?? [], -1);
    return goesOn;
  }
}

/** Of a pass that is not finished: the explanations are nobody's here, and no room is held. */
const decisionsOf = ({ placed, waiting, ends, clock }: Pass): Decisions => ({
  ...NOTHING,
  placed,
  waiting,
  ends,
  nextWakeAt: timestampOrNull(clock.nextMs),
  isPass: true,
});

const NOTHING: Decisions = {
  placed: [],
  waiting: [],
  ends: [],
  stops: [],
  holds: [],
  droppedHolds: [],
  nextWakeAt: null,
  isPass: false,
};
