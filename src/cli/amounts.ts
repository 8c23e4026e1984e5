import { usageError } from './cli-error.js';

/** Name of the option or field, for the message; the text as written. */
export interface Written {
  readonly name: string;
  readonly text: string;
}

const refuse = ({ name, text }: Written, fix: string): never => {
  throw usageError(`${name}: "${text}" ${fix}`);
};

/** `digits[.digits]` times `factor`, exactly. Undefined when the text is no such number, or a part would be lost. */
function scaled(text: string, factor: bigint): number | undefined {
  const match = /^(\d{1,18})(?:\.(\d{1,18}))?$/.exec(text);
  if (match === null) return undefined;
  const [, whole = '', fraction = ''] = match;
  const unit = 10n ** BigInt(fraction.length);
  const amount = (BigInt(whole) * unit + BigInt(fraction === '' ? '0' : fraction)) * factor;
  if (amount % unit !== 0n) return undefined;
  const exact = amount / unit;
  return exact <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(exact) : undefined;
}

/** Cores: `2`, `0.5` or `500m`, in thousandths of a core. */
export function parseCpu(written: Written): number {
  const milli = /^(\d{1,15})m$/.exec(written.text)?.[1];
  const amount = milli === undefined ? scaled(written.text, 1000n) : Number(milli);
  return amount ?? refuse(written, 'is not a number of cores: write 2, 0.5 or 500m (steps of 0.001)');
}

const BYTE_UNITS: Readonly<Record<string, bigint>> = {
  '': 1n,
  k: 1000n,
  M: 1000n ** 2n,
  G: 1000n ** 3n,
  T: 1000n ** 4n,
  Ki: 1024n,
  Mi: 1024n ** 2n,
  Gi: 1024n ** 3n,
  Ti: 1024n ** 4n,
};

/** Bytes: `8Gi`, `512Mi`, `1.5G`, or plain bytes. A part of a byte is refused. */
export function parseBytes(written: Written): number {
  const match = /^([\d.]+)(|k|M|G|T|Ki|Mi|Gi|Ti)$/.exec(written.text);
  const factor = BYTE_UNITS[match?.[2] ?? ''] ?? 1n;
  const amount = match === null ? undefined : scaled(match[1] ?? '', factor);
  return amount ?? refuse(written, 'is not an amount of bytes: write 8Gi, 512Mi, 1.5G or 1048576');
}

const TIME_UNITS: Readonly<Record<string, bigint>> = { ms: 1n, s: 1000n, m: 60_000n, h: 3_600_000n, d: 86_400_000n };

/** A duration in milliseconds: `90s`, `10m`, `1h30m`, `250ms`, or plain seconds. */
export function parseDurationMilliseconds(written: Written): number {
  const fix = 'is not a duration: write 30s, 10m, 1h30m, 2d or a number of seconds';
  if (/^[\d.]+$/.test(written.text)) return scaled(written.text, 1000n) ?? refuse(written, fix);
  const parts = [...written.text.matchAll(/([\d.]+)(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== written.text) return refuse(written, fix);
  return parts.reduce(
    (sum, [, amount = '', unit = '']) => sum + (scaled(amount, TIME_UNITS[unit] ?? 1n) ?? refuse(written, fix)),
    0,
  );
}

/** The contract takes seconds; milliseconds divide exactly enough for its smallest step. */
export const parseDurationSeconds = (written: Written): number => parseDurationMilliseconds(written) / 1000;

export function parseCount(written: Written, smallest = 0): number {
  const amount = /^\d{1,15}$/.test(written.text) ? Number(written.text) : undefined;
  if (amount === undefined || amount < smallest)
    return refuse(written, `is not a whole number of at least ${smallest}`);
  return amount;
}

export interface Gpus {
  readonly count: number;
  readonly model: string | undefined;
}

/** `2`, or `h100:8` to pin the model. */
export function parseGpus(written: Written): Gpus {
  const match = /^(?:([A-Za-z0-9][\w .-]{0,127}):)?(\d{1,6})$/.exec(written.text);
  if (match === null) return refuse(written, 'is not a number of GPUs: write 2, or MODEL:2 to pin the model');
  return { count: Number(match[2]), model: match[1] };
}
