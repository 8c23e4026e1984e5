/**
 * GPU-time in thousandths of a GPU times milliseconds, so that a factor with three decimals stays an exact integer: one
 * GPU of factor 1 for an hour is 3.6e9. 14,000 GPUs for a week stay below 2^53.
 */
export type GpuTime = number;

export const HOUR_MS = 3_600_000;
const UNITS_IN_HOUR = 1000 * HOUR_MS;

export const gpuHours = (time: GpuTime): number => time / UNITS_IN_HOUR;
export const fromGpuHours = (hours: number): GpuTime => Math.round(hours * UNITS_IN_HOUR);

/** `milliGpus` is the sum of GPUs × factor, in thousandths. */
export const gpuTime = (milliGpus: number, ms: number): GpuTime => milliGpus * ms;

/**
 * Which of two loads per weight is less: negative, zero or positive. Exact: near a tie the products are compared as big
 * integers, since a tie is broken by age and must not be broken by rounding. Weight 0 is above everything, and two of
 * them are equal.
 */
export function compareLoads(a: Load, b: Load): number {
  if (a.weight === 0 || b.weight === 0) return Number(a.weight === 0) - Number(b.weight === 0);
  const left = a.load * b.weight;
  const right = b.load * a.weight;
  const difference = left - right;
  if (Math.abs(difference) > 1e-12 * Math.max(Math.abs(left), Math.abs(right))) return difference;
  const exact = BigInt(a.load) * BigInt(b.weight) - BigInt(b.load) * BigInt(a.weight);
  return exact < 0n ? -1 : exact > 0n ? 1 : 0;
}

export interface Load {
  readonly load: GpuTime;
  /** A whole number, 0 or more. */
  readonly weight: number;
}

/** Loads and weights by number. */
export interface LoadColumns {
  readonly loads: Float64Array;
  readonly weights: Float64Array;
}

/** The same of two places in columns: nothing is allocated but near a tie. */
export function compareLoadsAt({ loads, weights }: LoadColumns, a: number, b: number): number {
  const one = loads[a] as number;
  const other = loads[b] as number;
  const weight = weights[a] as number;
  const otherWeight = weights[b] as number;
  const left = one * otherWeight;
  const right = other * weight;
  const difference = left - right;
  const isClear = weight !== 0 && otherWeight !== 0 && Math.abs(difference) > 1e-12 * Math.max(left, right);
  return isClear ? difference : compareLoads({ load: one, weight }, { load: other, weight: otherWeight });
}
