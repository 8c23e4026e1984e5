/** How a report writes GPU-time: hours, or seconds where the whole is of a few hours. */
export interface GpuTimeUnit {
  readonly name: 'GPU-h' | 'GPU-s';
  readonly seconds: number;
}

const HOURS_FROM_GPU_SECONDS = 36_000;

export const unitFor = (wholeGpuSeconds: number): GpuTimeUnit =>
  wholeGpuSeconds >= HOURS_FROM_GPU_SECONDS ? { name: 'GPU-h', seconds: 3600 } : { name: 'GPU-s', seconds: 1 };

/** `10,752.0`; the unit stands in the head of its column. */
export const amount = (gpuSeconds: number, unit: GpuTimeUnit): string => grouped(gpuSeconds / unit.seconds);

export const withUnit = (gpuSeconds: number | null, unit: GpuTimeUnit): string =>
  gpuSeconds === null ? 'not measured' : `${amount(gpuSeconds, unit)} ${unit.name}`;

function grouped(value: number): string {
  const [whole = '0', decimals = '0'] = Math.abs(value).toFixed(1).split('.');
  const sign = value < 0 ? '-' : '';
  return `${sign}${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${decimals}`;
}

export const percent = (part: number | null): string => (part === null ? '-' : `${(100 * part).toFixed(1)} %`);

/** `48 s`, `12.5 min`, `3.2 h`, `2.0 d`: the largest unit that leaves at least two of it. */
export function duration(seconds: number | null): string {
  if (seconds === null) return '-';
  if (seconds < 120) return `${Number(seconds.toFixed(1))} s`;
  if (seconds < 7200) return `${(seconds / 60).toFixed(1)} min`;
  return seconds < 172_800 ? `${(seconds / 3600).toFixed(1)} h` : `${(seconds / 86_400).toFixed(1)} d`;
}

/** To the minute, in UTC; to the second where a period is of minutes. */
export const moment = (iso: string, isShort: boolean): string =>
  `${iso.slice(0, 10)} ${iso.slice(11, isShort ? 19 : 16)} UTC`;
