import { type GpuTime, gpuHours, HOUR_MS } from './gpu-time.js';

const round2 = (value: number): string => String(Math.round(value * 100) / 100);

/** `16 GPUs`, `1 GPU`; the factor of the model is in it. */
export const gpusText = (milliGpus: number): string =>
  `${round2(milliGpus / 1000)} GPU${milliGpus === 1000 ? '' : 's'}`;
/** `2257.92 GPU-h`. */
export const gpuHoursText = (time: GpuTime): string => `${round2(gpuHours(time))} GPU-h`;
/** `35.28 h`, of less than one `20 min`, `30 s`: down, so that what is told to be allowed is. */
export const hoursText = (ms: number): string =>
  ms > 0 && ms < HOUR_MS ? spanText(ms) : `${Math.floor((ms / HOUR_MS) * 100 + 1e-6) / 100} h`;

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

/** `29h24m`, `45m`, `30s`: exact, as the command line reads it. Whole seconds. */
export function flagDuration(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 3600), 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const;
  const told = parts.filter(([amount]) => amount > 0).map(([amount, unit]) => `${amount}${unit}`);
  return told.length === 0 ? '0s' : told.join('');
}
