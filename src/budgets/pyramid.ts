import type { GpuTime } from './gpu-time.js';

/** GPU-time integrals over one period, of the cluster or of a part of the budget tree. */
export interface PyramidParts {
  readonly total: GpuTime;
  readonly healthy: GpuTime;
  readonly assigned: GpuTime;
  /** Of assigned: the time in which use was measured; all of it when it is not told. */
  readonly measured?: GpuTime;
  readonly used: GpuTime;
  /** Of assigned: what was charged to a budget. */
  readonly allocatedOccupancy: GpuTime;
}

/** One leaf: its charged use, its allocated time, and its demand (allocated work that was pending and eligible, or running). */
export interface LeafImpact {
  readonly use: GpuTime;
  readonly allocated: GpuTime;
  readonly demand: GpuTime;
}

/** Each a part of what is above it, 0 to 1; null where there was nothing to be a part of. */
export interface Pyramid {
  readonly availability: number | null;
  readonly occupancy: number | null;
  readonly utilization: number | null;
  readonly impact: number;
  readonly allocatedOfAssigned: number | null;
}

const part = (of: GpuTime, whole: GpuTime): number | null => (whole === 0 ? null : of / whole);

/** The four metrics of the budgets page, section 5. */
export const pyramid = (parts: PyramidParts, leaves: readonly LeafImpact[]): Pyramid => ({
  availability: part(parts.healthy, parts.total),
  occupancy: part(parts.assigned, parts.healthy),
  utilization: part(parts.used, parts.measured ?? parts.assigned),
  impact: impactOf(leaves),
  allocatedOfAssigned: part(parts.allocatedOccupancy, parts.assigned),
});

/** Σ min(U, A, D) / Σ min(A, D); 1 when nobody with allocated time asked. */
export function impactOf(leaves: readonly LeafImpact[]): number {
  let served = 0;
  let wanted = 0;
  for (const { use, allocated, demand } of leaves) {
    served += Math.min(use, allocated, demand);
    wanted += Math.min(allocated, demand);
  }
  return wanted === 0 ? 1 : served / wanted;
}
