import { type GpuTime, gpuHours, HOUR_MS } from './gpu-time.js';

const round2 = (value: number): string => String(Math.round(value * 100) / 100);

/** `16 GPUs`, `1 GPU`; the factor of the model is in it. */
export const gpusText = (milliGpus: number): string =>
  `${round2(milliGpus / 1000)} GPU${milliGpus === 1000 ? '' : 's'}`;
/** `2257.92 GPU-h`. */
export const gpuHoursText = (time: GpuTime): string => `${round2(gpuHours(time))} GPU-h`;
/** `35.28 h`: down, so that what is told to be allowed is. */
export const hoursText = (ms: number): string => `${Math.floor((ms / HOUR_MS) * 100 + 1e-6) / 100} h`;

const SPANS = [
  ['d', 86_400_000],
  ['h', HOUR_MS],
  ['min', 60_000],
] as const;

/** `7 d`, `1.5 h`, `90 s`: one unit, two decimals at most, rounded down, so that it never promises too much. */
export function spanText(ms: number): string {
  const [unit, size] = SPANS.find(([, length]) => ms >= length) ?? (['s', 1000] as const);
  return `${Math.floor((ms / size) * 100 + 1e-6) / 100} ${unit}`;
}
