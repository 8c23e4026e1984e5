import type { Wanted } from './converge.js';
import { isLive, type Replica, serves } from './replica.js';

/** A number of replicas, or a part of those that are wanted. */
export type Bound = { readonly count: number } | { readonly percent: number };

export type Strategy =
  | { readonly kind: 'rolling'; readonly surge: Bound; readonly unavailable: Bound }
  /** Promoted by hand where `promoteAfterMs` is null, else so long after all of the target serve. */
  | { readonly kind: 'blue-green'; readonly promoteAfterMs: number | null }
  /** A step's weight stands for `holdMs`; null: until it is promoted by hand. */
  | {
      readonly kind: 'canary';
      readonly steps: readonly { readonly percent: number; readonly holdMs: number | null }[];
    };

export interface Rollout {
  /** The last good revision; null: there was none before. */
  readonly from: number | null;
  readonly target: number;
  readonly strategy: Strategy;
  /** Of the step that stands: 0 at first. */
  readonly step: number;
  /** Since when all that the step wants serve; null: not yet. */
  readonly readySinceMs: number | null;
  /** The most replicas of the target that served at once. */
  readonly served: number;
  /** The last moment at which it went on: more of the target served than ever, or a step was done. */
  readonly progressMs: number;
  /** By hand, since the step began. */
  readonly promoted: boolean;
  readonly paused: boolean;
}

export interface RolloutTurn {
  readonly wanted: readonly Wanted[];
  /** Percent of the requests by revision; together 100, or none where nobody serves. */
  readonly weights: readonly { readonly revision: number; readonly percent: number }[];
  readonly next: Pick<Rollout, 'step' | 'readySinceMs' | 'promoted' | 'served' | 'progressMs'>;
  /** `done`: the target is the last good revision from now on. `roll-back`: the one before is wanted again. */
  readonly verdict: 'goes-on' | 'done' | 'roll-back';
  readonly because: string;
  /** The next moment at which time alone changes something. */
  readonly nextMs: number | null;
}

export interface RolloutGround {
  /** Replicas that the deployment wants. */
  readonly count: number;
  readonly replicas: readonly Replica[];
  readonly nowMs: number;
  readonly timeoutMs: number;
}

export const ROLLOUT_TIMEOUT_MS = 2 * 3_600_000;

/** Percents round up for what may be above, down for what may be missing. */
export const boundOf = (bound: Bound, count: number, round: 'up' | 'down'): number => {
  if ('count' in bound) return bound.count;
  const part = (count * bound.percent) / 100;
  return round === 'up' ? Math.ceil(part) : Math.floor(part);
};

interface Counts {
  readonly targetServing: number;
  readonly targetLive: number;
  readonly fromServing: number;
  readonly fromLive: number;
}

/**
 * One turn of a rollout: how many of each revision are wanted now, who gets the requests, and whether it is over. The old
 * revision keeps serving until the target does: what it loses is never more than the strategy allows, and never its last
 * serving replica while the target has none.
 */
export function rolloutTurn(given: Rollout, ground: RolloutGround): RolloutTurn {
  const counts = countsOf(given, ground.replicas);
  const isMore = counts.targetServing > given.served;
  const rollout = isMore ? { ...given, served: counts.targetServing, progressMs: ground.nowMs } : given;
  const isFirst = rollout.from === null || (counts.fromLive === 0 && rollout.strategy.kind === 'rolling');
  if (isFailing(rollout, ground, counts)) return rollBack(rollout, ground);
  if (rollout.paused) return paused(rollout, ground, counts);
  if (isFirst) return firstRevision(rollout, ground, counts);
  const { kind } = rollout.strategy;
  if (kind === 'rolling') return rolling(rollout, ground, counts);
  return stepped(rollout, ground, counts);
}

function countsOf({ from, target }: Rollout, replicas: readonly Replica[]): Counts {
  const of = (revision: number | null) =>
    replicas.filter((replica) => replica.revision === revision && isLive(replica));
  const [targets, olds] = [of(target), of(from)];
  return {
    targetLive: targets.length,
    targetServing: targets.filter(serves).length,
    fromLive: olds.length,
    fromServing: olds.filter(serves).length,
  };
}

/** Without progress for longer than the time-out while the target does not serve all that is asked of it. */
const isFailing = (rollout: Rollout, { nowMs, timeoutMs }: RolloutGround, { targetServing, targetLive }: Counts) =>
  rollout.from !== null &&
  !rollout.paused &&
  rollout.readySinceMs === null &&
  (targetServing < targetLive || targetServing === 0) &&
  nowMs - rollout.progressMs >= timeoutMs;

const kept = ({ step, readySinceMs, promoted, served, progressMs }: Rollout): RolloutTurn['next'] => ({
  step,
  readySinceMs,
  promoted,
  served,
  progressMs,
});

const wantedOf = (rollout: Rollout, target: number, from: number): readonly Wanted[] => [
  { revision: rollout.target, count: target },
  ...(rollout.from === null ? [] : [{ revision: rollout.from, count: from }]),
];

/** All requests to one revision where the other has nobody that serves. */
function weigh(rollout: Rollout, percent: number, { targetServing, fromServing }: Counts): RolloutTurn['weights'] {
  const { from, target } = rollout;
  if (from === null || fromServing === 0) return targetServing === 0 ? [] : [{ revision: target, percent: 100 }];
  if (targetServing === 0 || percent === 0) return [{ revision: from, percent: 100 }];
  if (percent === 100) return [{ revision: target, percent: 100 }];
  return [
    { revision: target, percent },
    { revision: from, percent: 100 - percent },
  ];
}

function rollBack(rollout: Rollout, { count, timeoutMs }: RolloutGround): RolloutTurn {
  return {
    wanted: [{ revision: rollout.from ?? rollout.target, count }],
    weights: [{ revision: rollout.from ?? rollout.target, percent: 100 }],
    next: kept(rollout),
    verdict: 'roll-back',
    because: `revision ${rollout.target} did not serve within ${timeoutMs / 1000} s: back to revision ${rollout.from}`,
    nextMs: null,
  };
}

function paused(rollout: Rollout, ground: RolloutGround, counts: Counts): RolloutTurn {
  return {
    wanted: wantedOf(rollout, counts.targetLive, counts.fromLive),
    weights: weigh(rollout, percentOf(rollout, counts), counts),
    next: { ...kept(rollout), progressMs: ground.nowMs },
    verdict: 'goes-on',
    because: 'paused',
    nextMs: null,
  };
}

function firstRevision(rollout: Rollout, { count, nowMs }: RolloutGround, counts: Counts): RolloutTurn {
  const isDone = counts.targetServing >= count;
  return {
    wanted: wantedOf(rollout, count, 0),
    weights: weigh({ ...rollout, from: null }, 100, counts),
    next: { ...kept(rollout), progressMs: isDone ? nowMs : rollout.progressMs },
    verdict: isDone ? 'done' : 'goes-on',
    because: `${counts.targetServing} of ${count} serve`,
    nextMs: null,
  };
}

/** In proportion to those that serve, so that each replica gets as much as another. */
const percentOf = ({ strategy, step }: Rollout, { targetServing, fromServing }: Counts): number => {
  if (strategy.kind === 'canary') return strategy.steps[step]?.percent ?? 100;
  if (strategy.kind === 'blue-green') return step === 0 ? 0 : 100;
  const serving = targetServing + fromServing;
  return serving === 0 ? 0 : Math.round((100 * targetServing) / serving);
};

function rolling(rollout: Rollout, ground: RolloutGround, counts: Counts): RolloutTurn {
  const { count, nowMs, timeoutMs } = ground;
  const strategy = rollout.strategy as Extract<Strategy, { kind: 'rolling' }>;
  const unavailable = Math.min(boundOf(strategy.unavailable, count, 'down'), count - 1);
  const surge = Math.max(boundOf(strategy.surge, count, 'up'), unavailable === 0 ? 1 : 0);
  const serving = counts.targetServing + counts.fromServing;
  // Those that do not serve go first, and cost nothing; of the others as many as may be missing.
  const idle = counts.fromLive - counts.fromServing;
  const mayGo = idle + Math.min(counts.fromServing, Math.max(0, serving - (count - unavailable)));
  const lastOne = counts.targetServing === 0 && mayGo >= counts.fromLive && counts.fromServing > 0 ? 1 : 0;
  const from = counts.fromLive - Math.max(0, mayGo - lastOne);
  const target = Math.min(count, Math.max(counts.targetLive, count + surge - counts.fromLive));
  const isDone = counts.fromLive === 0 && counts.targetServing >= count;
  return {
    wanted: wantedOf(rollout, target, from),
    weights: weigh(rollout, percentOf(rollout, counts), counts),
    next: kept(rollout),
    verdict: isDone ? 'done' : 'goes-on',
    because: `revision ${rollout.target}: ${counts.targetServing} of ${count} serve; revision ${rollout.from}: ${counts.fromServing} serve`,
    nextMs: isDone || nowMs - rollout.progressMs >= timeoutMs ? null : rollout.progressMs + timeoutMs,
  };
}

/** Blue-green is a canary with one step of no weight; its target is there whole. */
function stepped(rollout: Rollout, ground: RolloutGround, counts: Counts): RolloutTurn {
  const { count, nowMs, timeoutMs } = ground;
  const percent = percentOf(rollout, counts);
  const isBlueGreen = rollout.strategy.kind === 'blue-green';
  const needed = isBlueGreen ? count : Math.max(1, Math.ceil((count * percent) / 100));
  const isReady = counts.targetServing >= needed;
  const readySinceMs = isReady ? (rollout.readySinceMs ?? nowMs) : null;
  const holdMs = holdOf(rollout);
  const isOver = isReady && (rollout.promoted || (holdMs !== null && nowMs - (readySinceMs ?? nowMs) >= holdMs));
  const isLast = percent >= 100;
  const from = isLast && isReady ? 0 : count;
  const isDone = isLast && isReady && counts.fromLive === 0;
  const moved = isOver && !isLast;
  const progressed = moved || (isReady && rollout.readySinceMs === null);
  return {
    wanted: wantedOf(rollout, Math.max(needed, isLast ? count : 0), from),
    weights: weigh(rollout, isReady ? percent : previousPercent(rollout), counts),
    next: {
      step: moved ? rollout.step + 1 : rollout.step,
      readySinceMs: moved ? null : readySinceMs,
      promoted: moved ? false : rollout.promoted,
      served: rollout.served,
      progressMs: progressed ? nowMs : rollout.progressMs,
    },
    verdict: isDone ? 'done' : 'goes-on',
    because: `step ${rollout.step + 1}, ${percent} %: ${counts.targetServing} of ${needed} of revision ${rollout.target} serve`,
    nextMs: isReady
      ? holdMs === null || isLast
        ? null
        : (readySinceMs ?? nowMs) + holdMs
      : rollout.progressMs + timeoutMs,
  };
}

const holdOf = ({ strategy, step }: Rollout): number | null => {
  if (strategy.kind === 'canary') return strategy.steps[step]?.holdMs ?? null;
  return strategy.kind === 'blue-green' && step === 0 ? strategy.promoteAfterMs : null;
};

/** While a step is not ready, the weight of the one before stands. */
const previousPercent = ({ strategy, step }: Rollout): number =>
  step === 0 || strategy.kind !== 'canary' ? 0 : (strategy.steps[step - 1]?.percent ?? 0);
