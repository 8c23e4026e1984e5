import type { GpuTime } from '../../src/budgets/gpu-time.js';

/** A rate that holds from `startMs` on, until `endMs` (null: still), both on one clock. */
export interface Rate {
  readonly startMs: number;
  readonly endMs: number | null;
  readonly milliGpus: number;
}

/** The integral of all rates over each cell between two neighbouring edges. Exact: integers only. */
export function integrate(edgesMs: readonly number[], rates: Iterable<Rate>): readonly GpuTime[] {
  const sums = new Array<number>(Math.max(0, edgesMs.length - 1)).fill(0);
  for (const { startMs, endMs, milliGpus } of rates) {
    for (let cell = firstCell(edgesMs, startMs); cell < sums.length; cell += 1) {
      const from = edgesMs[cell] ?? 0;
      const until = edgesMs[cell + 1] ?? 0;
      if (endMs !== null && endMs <= from) break;
      sums[cell] = (sums[cell] ?? 0) + milliGpus * (Math.min(endMs ?? until, until) - Math.max(startMs, from));
    }
  }
  return sums;
}

/** The cell that the moment lies in; the first for what was before. */
function firstCell(edgesMs: readonly number[], atMs: number): number {
  let low = 0;
  let high = edgesMs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((edgesMs[middle] ?? 0) <= atMs) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}
