import type { QuotaViolation } from '../contract/quota.js';

export type AmountSlot = QuotaViolation['slot'];

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** At most `digits` decimals, without trailing zeros: exact for thousandths of a core. */
const decimal = (value: number, digits: number): string => String(Number(value.toFixed(digits)));

function bytesText(bytes: number): string {
  let unit = 0;
  let amount = bytes;
  while (Math.abs(amount) >= 1024 && unit < BYTE_UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${decimal(amount, 2)} ${BYTE_UNITS[unit]}`;
}

/** The bare number, where the unit has been said already; bytes always carry theirs. */
export function bareAmountText(slot: AmountSlot, amount: number): string {
  switch (slot) {
    case 'cpuMilli':
      return decimal(amount / 1000, 3);
    case 'memoryBytes':
    case 'gpuMemoryBytes':
      return bytesText(amount);
    case 'gpuCount':
    case 'sessions':
    case 'pendingSessions':
      return String(amount);
  }
}

/** What a slot is called in a sentence. */
export const SLOT_NOUNS = {
  cpuMilli: 'CPU',
  memoryBytes: 'memory',
  gpuCount: 'GPU',
  gpuMemoryBytes: 'GPU memory',
  sessions: 'sessions',
  pendingSessions: 'pending sessions',
} as const satisfies Record<AmountSlot, string>;

/** `4 CPU`, `0.5 CPU`, `64 GiB of memory`, `2 GPU`; `2 GPU (H200)` when the request pins a model. */
export function amountText(slot: AmountSlot, amount: number, gpuModel: string | null = null): string {
  const bare = bareAmountText(slot, amount);
  if (slot === 'memoryBytes' || slot === 'gpuMemoryBytes') return `${bare} of ${SLOT_NOUNS[slot]}`;
  if (slot === 'gpuCount' && gpuModel !== null) return `${bare} GPU (${gpuModel})`;
  return `${bare} ${SLOT_NOUNS[slot]}`;
}

/** `a`, `a and b`, `a, b and c`. */
export function listText(parts: readonly string[]): string {
  if (parts.length <= 1) return parts.join('');
  return `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}
