import type { GpuTime } from './gpu-time.js';

/** While a node had so many healthy GPUs (× factor, in thousandths). */
export interface HealthyInterval {
  readonly startMs: number;
  readonly endMs: number | null;
  readonly milliGpus: number;
}

/**
 * C(t) over [t − W, t): the healthy GPUs of all nodes, integrated. A node younger than the window counts as if it had been
 * there all of it, with what it had first; a node that is gone counts for the time that it was there.
 */
export function capacityTime(nodes: readonly (readonly HealthyInterval[])[], nowMs: number, windowMs: number): GpuTime {
  const from = nowMs - windowMs;
  let sum = 0;
  for (const intervals of nodes) {
    const first = intervals.reduce<HealthyInterval | undefined>(
      (earliest, one) => (earliest === undefined || one.startMs < earliest.startMs ? one : earliest),
      undefined,
    );
    if (first === undefined) continue;
    for (const one of intervals) {
      const startMs = one === first ? Math.min(one.startMs, from) : one.startMs;
      const overlap = Math.min(one.endMs ?? nowMs, nowMs) - Math.max(startMs, from);
      if (overlap > 0) sum += one.milliGpus * overlap;
    }
  }
  return sum;
}
