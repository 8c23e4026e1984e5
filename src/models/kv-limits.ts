import { heldOf } from './account.js';
import { type Bytes, isReleased, type PoolGpu, type Tenant } from './tenant.js';

const UNREADABLE_WEIGHT = 5;
const LARGEST_LOAD = 4;

/**
 * Each tenant's KV limit on one GPU, in bytes, by model. With somebody awake, no caps and no room held that is not covered,
 * Σ (F + limit) of those that are not released + Σ residues = usable − rooms held, to the byte: everything is used, nothing
 * is promised twice. While a room that is held for another is not covered, no limit rises.
 */
export function kvLimits(gpu: PoolGpu, releases: boolean): ReadonlyMap<string, Bytes> {
  const shares = gpu.tenants
    .map((tenant) => shareOf(tenant, releases))
    .sort((a, b) => (a.tenant.model < b.tenant.model ? -1 : 1));
  const spare = shares.reduce((rest, { heldBytes }) => rest - heldBytes, gpu.usableBytes - gpu.heldBytes);
  const isUncovered = spare < 0;
  const extra = isUncovered ? new Map<Share, Bytes>() : divide(spare, shares);
  const limits = new Map<string, Bytes>();
  for (const share of shares) {
    const planned = share.baseBytes + (extra.get(share) ?? 0);
    const { limitBytes, model } = share.tenant;
    limits.set(model, isUncovered && limitBytes !== null ? Math.max(share.baseBytes, limitBytes) : planned);
  }
  return limits;
}

interface Share {
  readonly tenant: Tenant;
  readonly heldBytes: Bytes;
  readonly baseBytes: Bytes;
  readonly weight: number;
  /** What it may get above its base. */
  readonly capBytes: Bytes;
}

/** A sleeper whose wake cannot be met yet is divided as if it were released: its neighbours keep what they have until then. */
function shareOf(given: Tenant, releases: boolean): Share {
  const tenant = given.isWakeAsked && given.phase === 'SLEEPING' ? { ...given, isWakeAsked: false } : given;
  const isGone = isReleased(tenant, releases);
  const baseBytes = isGone ? tenant.kvUsedBytes : Math.max(tenant.kvFloorBytes, tenant.kvUsedBytes);
  return {
    tenant: given,
    heldBytes: heldOf(tenant, releases),
    baseBytes,
    weight: weightOf(tenant),
    capBytes: tenant.kvMaxBytes === null ? Number.POSITIVE_INFINITY : Math.max(0, tenant.kvMaxBytes - baseBytes),
  };
}

/** 0 asleep, 5 when its load could not be read, else 1 and up to 4 for what is in flight; times 1 + priority. */
export function weightOf({ phase, load, priority }: Pick<Tenant, 'phase' | 'load' | 'priority'>): number {
  if (phase === 'SLEEPING') return 0;
  const weight = load === null ? UNREADABLE_WEIGHT : 1 + Math.min(LARGEST_LOAD, load.running + load.waiting);
  return weight * (1 + priority);
}

/** By weight, rounded down; what a cap frees is shared out again, and the bytes that are left go one by one in name order. */
function divide(spareBytes: Bytes, shares: readonly Share[]): ReadonlyMap<Share, Bytes> {
  const extra = new Map<Share, Bytes>();
  let rest = spareBytes;
  let open = shares.filter(({ weight, capBytes }) => weight > 0 && capBytes > 0);
  for (;;) {
    const weights = open.reduce((sum, { weight }) => sum + weight, 0);
    if (weights === 0) return extra;
    const round = rest;
    const capped = open.filter(({ weight, capBytes }) => portion(round, weight, weights) >= capBytes);
    if (capped.length === 0) return divideRest(extra, round, { open, weights });
    for (const share of capped) {
      extra.set(share, share.capBytes);
      rest -= share.capBytes;
    }
    open = open.filter((share) => !extra.has(share));
  }
}

function divideRest(
  extra: Map<Share, Bytes>,
  spareBytes: Bytes,
  { open, weights }: { readonly open: readonly Share[]; readonly weights: number },
): ReadonlyMap<Share, Bytes> {
  let left = spareBytes;
  for (const share of open) {
    const part = portion(spareBytes, share.weight, weights);
    extra.set(share, part);
    left -= part;
  }
  for (const share of open) {
    if (left === 0) break;
    extra.set(share, (extra.get(share) ?? 0) + 1);
    left -= 1;
  }
  return extra;
}

/** ⌊spare × weight / weights⌋, exact: with big integers where the product is above 2^53. */
function portion(spareBytes: Bytes, weight: number, weights: number): Bytes {
  const product = spareBytes * weight;
  if (Number.isSafeInteger(product)) return Math.floor(product / weights);
  return Number((BigInt(spareBytes) * BigInt(weight)) / BigInt(weights));
}
