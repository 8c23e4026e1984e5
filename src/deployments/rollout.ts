import type { Wanted } from './converge.js';
import type { Replica } from './replica.js';
import { boundsOf, failsAtMs, kept, soonest } from './rollout-bounds.js';
import { type Counts, countsOf, keptOf, wantedOf, weigh } from './rollout-counts.js';
import { pausedTurn } from './rollout-paused.js';
import { steppedTurn } from './rollout-stepped.js';
import { steadyTurn } from './steady.js';

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
  /** The most replicas of the target that served at once, each for long enough. */
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
  /** A replica of the target has to serve so long before an old one leaves for it. */
  readonly provenMs: number;
  /** One of the target failed, and none has served for long since. */
  readonly targetFails: boolean;
  /** The target is the good revision, and what it leaves is not: there is nothing to roll back to. */
  readonly isGoingBack: boolean;
}

/**
 * One turn of a rollout: how many of each revision are wanted now, who gets the requests, and whether it is over. The old ones
 * keep serving until the target does, for long enough to tell: what they lose is never more than the strategy allows, and never
 * their last serving replica while the target has none. Of several old revisions the last good one leaves last.
 */
export function rolloutTurn(given: Rollout, ground: RolloutGround): RolloutTurn {
  const counts = countsOf(given, ground);
  const isMore = counts.targetProven > given.served;
  const rollout = isMore ? { ...given, served: counts.targetProven, progressMs: ground.nowMs } : given;
  if (ground.count === 0 || rollout.paused) return pausedTurn(rollout, ground, counts);
  if (isFailing(rollout, ground)) return rollBack(rollout, ground);
  const isRolling = rollout.strategy.kind === 'rolling';
  if (isRolling || isFirst(rollout, counts)) return rolling(rollout, ground, counts);
  const turn = steppedTurn(rollout, ground, counts);
  // What the next step needs is made at once; there are so many steps, so it ends.
  return turn.next.step === rollout.step ? turn : rolloutTurn({ ...rollout, ...turn.next }, ground);
}

/** There is nothing to step away from. */
const isFirst = ({ from }: Rollout, { othersServing }: Counts): boolean => from === null && othersServing === 0;

const isFailing = (
  { from, readySinceMs, progressMs }: Rollout,
  { nowMs, timeoutMs, isGoingBack }: RolloutGround,
): boolean => from !== null && !isGoingBack && readySinceMs === null && nowMs - progressMs >= timeoutMs;

function rollBack(rollout: Rollout, ground: RolloutGround): RolloutTurn {
  const { from, target } = rollout;
  const { wanted, weights, nextMs } = steadyTurn(from ?? target, ground);
  return {
    wanted,
    weights,
    next: kept(rollout),
    verdict: 'roll-back',
    because: `revision ${target} did not serve within ${ground.timeoutMs / 1000} s: back to revision ${from}`,
    nextMs,
  };
}

/**
 * Old ones that do not serve go at once, and come back only where the target fails: a good target makes up for them itself.
 */
function rolling(rollout: Rollout, ground: RolloutGround, counts: Counts): RolloutTurn {
  const { count } = ground;
  const { surge, unavailable } = boundsOf(rollout.strategy, count);
  const needed = Math.max(0, count - unavailable - counts.targetProven);
  const { fromServing, othersServing, targetServing, targetProven } = counts;
  const old = ground.targetFails ? needed : Math.min(needed, fromServing + othersServing);
  const others = Math.min(othersServing, Math.max(0, old - fromServing));
  const from = rollout.from === null ? 0 : old - others;
  const target = Math.min(count, Math.max(targetServing, count + surge - from - others));
  const isDone = targetProven >= count;
  const left = keptOf(counts, { target, from, others });
  return {
    wanted: wantedOf(rollout, { target, from, others }, counts),
    weights: weigh(rollout, percentOf(left), left),
    next: kept(rollout),
    verdict: isDone ? 'done' : 'goes-on',
    because: `revision ${rollout.target}: ${targetServing} of ${count} serve${oldText(rollout, counts)}`,
    nextMs: isDone ? null : soonest(counts.nextProvenMs, failsAtMs(rollout, ground)),
  };
}

/** In proportion to those that serve, so that each replica gets as much as another. */
const percentOf = ({ targetProven, fromServing, othersServing }: Counts): number => {
  const serving = targetProven + fromServing + othersServing;
  return serving === 0 ? 100 : Math.round((100 * targetProven) / serving);
};

const oldText = ({ from }: Rollout, { fromServing, others }: Counts): string =>
  [...(from === null ? [] : [{ revision: from, serving: fromServing }]), ...others]
    .map(({ revision, serving }) => `; revision ${revision}: ${serving} serve`)
    .join('');
