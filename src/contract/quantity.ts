import { z } from 'zod';

/** 1 Pi, as the spec of model claims bounds it. */
export const LARGEST_QUANTITY_BYTES = 2 ** 50;
const MEBI = 2n ** 20n;

const FACTORS: Readonly<Record<string, bigint>> = {
  '': 1n,
  k: 1_000n,
  M: 1_000_000n,
  G: 1_000_000_000n,
  T: 1_000_000_000_000n,
  P: 1_000_000_000_000_000n,
  Ki: 2n ** 10n,
  Mi: 2n ** 20n,
  Gi: 2n ** 30n,
  Ti: 2n ** 40n,
  Pi: 2n ** 50n,
};

const AN_AMOUNT = 'an amount of memory such as 30Gi, 512Mi or 1073741824';

export type ParsedQuantity = { readonly bytes: number } | { readonly problem: string };

/** `30Gi`, `1.5G`, `1048576`: exact; a part of a byte is rounded up from 1 Mi on, and refused below. */
export function parseQuantity(text: string): ParsedQuantity {
  const match = /^(\d{1,60})(?:\.(\d{1,60}))?\s*(k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?B?$/.exec(text.trim());
  if (match === null) return { problem: /^-\d/.test(text.trim()) ? 'must be above 0' : AN_AMOUNT };
  const [, whole = '', fraction = '', unit = ''] = match;
  const scale = 10n ** BigInt(fraction.length);
  const product = BigInt(whole + fraction) * (FACTORS[unit] ?? 1n);
  if (product <= 0n) return { problem: 'must be above 0' };
  const isWhole = product % scale === 0n;
  if (!isWhole && product < MEBI * scale) return { problem: 'must be whole bytes below 1Mi' };
  const bytes = product / scale + (isWhole ? 0n : 1n);
  if (bytes > BigInt(LARGEST_QUANTITY_BYTES)) return { problem: 'must not be above 1Pi' };
  return { bytes: Number(bytes) };
}

const notGiven = ({ input }: { readonly input: unknown }): string =>
  input === undefined ? 'is missing: give an amount of memory such as 30Gi' : AN_AMOUNT;
/** An amount of memory, in bytes once it is parsed. */
export const quantitySchema = z
  .union([z.string().max(64), z.number()], { error: notGiven })
  .transform((given, context) => {
    const parsed = parseQuantity(typeof given === 'number' ? plain(given) : given);
    if ('bytes' in parsed) return parsed.bytes;
    context.addIssue({ code: 'custom', message: parsed.problem });
    return z.NEVER;
  });

/** Without an exponent: `1e21` is above every bound and reads as such. */
const plain = (value: number): string =>
  Number.isFinite(value) && Math.abs(value) < 1e20
    ? value.toFixed(Number.isInteger(value) ? 0 : 9)
    : '99999999999999999999';
