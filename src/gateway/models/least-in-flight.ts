import type { Target } from './target.js';

/** Of those that take connections, looked at from the `first` on, so that equals take turns; null where none does. */
export function leastInFlight<T extends Target>(targets: readonly T[], first: number, nowMs: number): T | null {
  const { length } = targets;
  let best: T | null = null;
  for (let step = 0; step < length; step += 1) {
    const target = targets[(first + step) % length];
    if (target !== undefined && target.isOpen(nowMs) && (best === null || target.inFlight < best.inFlight))
      best = target;
  }
  return best;
}
