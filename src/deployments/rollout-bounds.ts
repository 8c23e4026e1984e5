import type { Bound, Rollout, RolloutGround, RolloutTurn, Strategy } from './rollout.js';

/** Percents round up for what may be above, down for what may be missing. */
export const boundOf = (bound: Bound, count: number, round: 'up' | 'down'): number => {
  if ('count' in bound) return bound.count;
  const part = (count * bound.percent) / 100;
  return round === 'up' ? Math.ceil(part) : Math.floor(part);
};

/** What a rolling rollout may have above the wanted count, and below it. One that may neither surge nor miss surges by one. */
export function boundsOf(strategy: Strategy, count: number): { readonly surge: number; readonly unavailable: number } {
  if (strategy.kind !== 'rolling') return { surge: count, unavailable: 0 };
  const unavailable = Math.min(boundOf(strategy.unavailable, count, 'down'), Math.max(0, count - 1));
  return { surge: Math.max(boundOf(strategy.surge, count, 'up'), unavailable === 0 ? 1 : 0), unavailable };
}

export const kept = ({ step, readySinceMs, promoted, served, progressMs }: Rollout): RolloutTurn['next'] => ({
  step,
  readySinceMs,
  promoted,
  served,
  progressMs,
});

/** The next of some moments; null where there is none. */
export const soonest = (...moments: readonly (number | null)[]): number | null => {
  const known = moments.filter((moment) => moment !== null);
  return known.length === 0 ? null : Math.min(...known);
};

/** When it goes back by itself, if nothing more serves by then; null: it never does. */
export const failsAtMs = (
  { from, progressMs }: Rollout,
  { timeoutMs, isGoingBack }: Pick<RolloutGround, 'timeoutMs' | 'isGoingBack'>,
): number | null => (from === null || isGoingBack ? null : progressMs + timeoutMs);
