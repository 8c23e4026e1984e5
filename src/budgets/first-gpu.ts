import type { ReportWaits, WaitClass } from '../contract/index.js';
import { quantile } from '../simulator/wait-figures.js';
import { HOUR_MS } from './gpu-time.js';
import type { FirstStart } from './report-facts.js';

const SHARES = Array.from({ length: 21 }, (_, step) => step / 20);

const CLASSES: Readonly<Record<WaitClass, (minRuntimeMs: number) => boolean>> = {
  short: (m) => m <= HOUR_MS,
  'short-charged': (m) => m > 0 && m <= HOUR_MS,
  unallocated: (m) => m === 0,
  long: (m) => m > HOUR_MS,
};

/** Waits for the first GPU, by what the session promised itself. Who has none yet is counted, and in no quantile. */
export const firstGpuWaits = (starts: readonly FirstStart[]): ReportWaits[] =>
  Object.entries(CLASSES).map(([name, isOf]) => {
    const own = starts.filter(({ minRuntimeMs }) => isOf(minRuntimeMs));
    const waits = own
      .flatMap(({ sinceMs, startedMs }) => (startedMs === null ? [] : [Math.max(0, startedMs - sinceMs) / 1000]))
      .toSorted((a, b) => a - b);
    return {
      class: name as WaitClass,
      started: waits.length,
      medianSeconds: quantile(waits, 0.5),
      p95Seconds: quantile(waits, 0.95),
      maxSeconds: waits.at(-1) ?? null,
      waiting: own.length - waits.length,
      curve: waits.length === 0 ? [] : SHARES.map((share) => ({ share, seconds: quantile(waits, share) ?? 0 })),
    };
  });
