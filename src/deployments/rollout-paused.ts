import type { Rollout, RolloutGround, RolloutTurn } from './rollout.js';
import { boundsOf, kept } from './rollout-bounds.js';
import { type Counts, keptOf, wantedOf, weigh } from './rollout-counts.js';
import { standingPercent } from './rollout-stepped.js';

/**
 * Stands still, by hand or at a wanted count of zero: no more of the target than there are, and no old one leaves for them. What
 * dies is made again and a changed count is kept to: of the old revision, where it is there. Its time-out does not run.
 */
export function pausedTurn(rollout: Rollout, ground: RolloutGround, counts: Counts): RolloutTurn {
  const { count, nowMs } = ground;
  const { surge, unavailable } = boundsOf(rollout.strategy, count);
  const { targetLive, targetProven, fromLive, fromServing, othersServing } = counts;
  const others = Math.min(othersServing, Math.max(0, count - fromServing));
  const canComeBack = rollout.from !== null && (fromLive > 0 || ground.targetFails || targetLive === 0);
  const missing = Math.max(0, count - targetLive - fromLive - others);
  const target = Math.min(count, targetLive + (canComeBack ? 0 : missing));
  const room = Math.max(count + surge - target - others, count - unavailable - targetProven - others, 0);
  const whole = rollout.strategy.kind === 'rolling' ? fromLive + missing : Math.max(0, count - others);
  const from = count === 0 ? 0 : Math.min(canComeBack ? whole : fromLive, room);
  const left = keptOf(counts, { target, from, others });
  return {
    wanted: wantedOf(rollout, { target, from, others }, counts),
    weights: weigh(rollout, pausedPercent(rollout, left), left),
    next: { ...kept(rollout), progressMs: nowMs },
    verdict: 'goes-on',
    because: rollout.paused ? 'paused' : 'no replica is wanted: it goes on with the first one',
    nextMs: null,
  };
}

const pausedPercent = (rollout: Rollout, { targetServing, fromServing, othersServing }: Counts): number => {
  if (rollout.strategy.kind !== 'rolling') return standingPercent(rollout);
  const serving = targetServing + fromServing + othersServing;
  return serving === 0 ? 100 : Math.round((100 * targetServing) / serving);
};
