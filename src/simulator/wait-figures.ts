import type { JobOutcome } from './simulated-job.js';

/** In seconds; null where nobody started. */
export interface WaitFigures {
  readonly started: number;
  readonly meanSeconds: number | null;
  readonly medianSeconds: number | null;
  readonly p95Seconds: number | null;
  readonly maxSeconds: number | null;
}

/** Waits in seconds from submission to the first start, ascending. */
export function waitsOf(outcomes: readonly JobOutcome[]): Float64Array {
  const waits = new Float64Array(outcomes.length);
  let started = 0;
  for (const { job, startedMs } of outcomes) {
    if (startedMs === null) continue;
    waits[started] = (startedMs - job.submittedMs) / 1000;
    started += 1;
  }
  return waits.subarray(0, started).sort();
}

export function waitFigures(outcomes: readonly JobOutcome[]): WaitFigures {
  const waits = waitsOf(outcomes);
  const sum = waits.reduce((total, wait) => total + wait, 0);
  return {
    started: waits.length,
    meanSeconds: waits.length === 0 ? null : sum / waits.length,
    medianSeconds: quantile(waits, 0.5),
    p95Seconds: quantile(waits, 0.95),
    maxSeconds: waits.at(-1) ?? null,
  };
}

/** The smallest value that at least that share of them does not exceed. `ascending` is sorted. */
export function quantile(ascending: ArrayLike<number>, share: number): number | null {
  return ascending[Math.max(0, Math.ceil(share * ascending.length) - 1)] ?? null;
}
