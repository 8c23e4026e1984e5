import type { GpuTime } from './gpu-time.js';

export interface MinRuntimeCap {
  readonly allowed: boolean;
  /** The longest minimum runtime that the budget bears for so many GPUs, in ms, rounded down. */
  readonly largestMs: number;
}

/**
 * GPUs × m may not exceed all of the leaf's allocated time, nor m the cap that the leaf's owner set (null: none).
 * `milliGpus` is GPUs × factor in thousandths.
 */
export function minRuntimeCap(
  asked: { readonly milliGpus: number; readonly minRuntimeMs: number },
  budget: { readonly allocated: GpuTime; readonly capMs: number | null },
): MinRuntimeCap {
  const bears = asked.milliGpus === 0 ? Number.MAX_SAFE_INTEGER : Math.floor(budget.allocated / asked.milliGpus);
  const largestMs = Math.min(bears, budget.capMs ?? Number.MAX_SAFE_INTEGER);
  return { allowed: asked.minRuntimeMs <= largestMs, largestMs };
}
