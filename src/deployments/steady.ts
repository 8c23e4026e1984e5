import type { RolloutGround, RolloutTurn } from './rollout.js';
import { countsOf, keptOf, wantedOf, weigh } from './rollout-counts.js';

/** Without a rollout, others that serve leave in waves of this part of the wanted count. */
const WAVE = 0.25;

/**
 * No rollout is under way: all of one revision. Those of others (after a way back) serve on until it does, and leave in waves;
 * the last one that serves stays until the revision has one.
 */
export function steadyTurn(
  revision: number,
  ground: Pick<RolloutGround, 'count' | 'replicas' | 'nowMs' | 'provenMs'>,
): Pick<RolloutTurn, 'wanted' | 'weights' | 'nextMs'> {
  const { count } = ground;
  const sides = { from: null, target: revision };
  const counts = countsOf(sides, ground);
  const { targetProven, othersServing } = counts;
  const least = count > 0 && targetProven === 0 ? 1 : 0;
  const others = Math.min(othersServing, Math.max(least, count - Math.ceil(count * WAVE) - targetProven));
  const left = keptOf(counts, { target: count, from: 0, others });
  const percent = Math.round((100 * left.targetServing) / Math.max(1, left.targetServing + left.othersServing));
  return {
    wanted: wantedOf(sides, { target: count, from: 0, others }, counts),
    weights: weigh(sides, percent, left),
    nextMs: others > 0 ? counts.nextProvenMs : null,
  };
}
