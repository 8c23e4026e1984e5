import { baseOf } from './account.js';
import { type Bytes, inNameOrder, needOf, type PoolGpu, residueOf, type Tenant } from './tenant.js';

const UNREADABLE_WEIGHT = 5;
const LARGEST_LOAD = 4;

/** What an engine may have at most beside its own kvMax: one on several GPUs has one limit, the smallest of them. By engine. */
export type KvCaps = ReadonlyMap<string, Bytes>;

/**
 * Each tenant's KV limit on one GPU, in bytes, by engine. With somebody awake, no caps and no room held that is not covered,
 * Σ (F + limit) of those that are not released + Σ residues = usable − rooms held, to the byte: everything is used, nothing
 * is promised twice. While a room that is held for another is not covered, no limit rises.
 */
export function kvLimits(gpu: PoolGpu, releases: boolean, caps?: KvCaps): ReadonlyMap<string, Bytes> {
  const limits = new Map<string, Bytes>();
  const tenants = inNameOrder(gpu.tenants);
  const shares = kvShares({ ...gpu, tenants }, releases, caps);
  for (let n = 0; n < tenants.length; n += 1) limits.set(tenants[n]?.id ?? '', shares[n] ?? 0);
  return limits;
}

/** The same by position: `tenants` must be in name order. */
export function kvShares(gpu: PoolGpu, releases: boolean, caps?: KvCaps): readonly Bytes[] {
  const { tenants } = gpu;
  const base: Bytes[] = [];
  const weights: number[] = [];
  const most: Bytes[] = [];
  let spare = gpu.usableBytes - gpu.heldBytes;
  for (const tenant of tenants) {
    const least = dividedBaseOf(tenant, releases);
    spare -= dividedHeldOf(tenant, least, releases);
    base.push(least);
    weights.push(weightOf(tenant));
    const cap = caps?.get(tenant.id) ?? Number.POSITIVE_INFINITY;
    most.push(Math.max(0, Math.min(tenant.kvMaxBytes ?? Number.POSITIVE_INFINITY, cap) - least));
  }
  if (spare < 0) return uncovered(gpu, { base, most, releases });
  divide(spare, { limits: base, weights, most });
  return base;
}

/** A sleeper whose wake cannot be met yet is divided as if it were released: its neighbours keep what they have until then. */
export const isDividedAsReleased = (tenant: Tenant, releases: boolean): boolean =>
  releases && residueOf(tenant) !== null;

const dividedBaseOf = (tenant: Tenant, releases: boolean): Bytes =>
  isDividedAsReleased(tenant, releases) ? tenant.kvUsedBytes : baseOf(tenant);

function dividedHeldOf(tenant: Tenant, baseBytes: Bytes, releases: boolean): Bytes {
  const residue = residueOf(tenant) ?? 0;
  return isDividedAsReleased(tenant, releases) ? residue : Math.max(tenant.footprintBytes + baseBytes, residue);
}

/** 0 asleep or leaving, 5 when its load could not be read, else 1 and up to 4 for what is in flight; times 1 + priority. */
export function weightOf({ phase, load, priority }: Pick<Tenant, 'phase' | 'load' | 'priority'>): number {
  if (phase === 'SLEEPING' || phase === 'STOPPING') return 0;
  const weight = load === null ? UNREADABLE_WEIGHT : 1 + Math.min(LARGEST_LOAD, load.running + load.waiting);
  return weight * (1 + priority);
}

interface Uncovered {
  readonly base: readonly Bytes[];
  readonly most: readonly Bytes[];
  readonly releases: boolean;
}

/** Everyone awake keeps what he has where the GPU holds that (a room is held for another); else all go down to their base. */
function uncovered({ tenants, usableBytes }: PoolGpu, { base, most, releases }: Uncovered): readonly Bytes[] {
  let taken = 0;
  const kept = tenants.map((tenant, n) => {
    const least = base[n] ?? 0;
    const has = isDividedAsReleased(tenant, releases) ? 0 : (tenant.limitBytes ?? 0);
    const limit = Math.min(Math.max(least, has), least + (most[n] ?? 0));
    taken += dividedHeldOf(tenant, limit, releases);
    return limit;
  });
  return taken <= usableBytes ? kept : base;
}

interface Shares {
  /** At their base; what each gets is added. */
  readonly limits: Bytes[];
  readonly weights: readonly number[];
  readonly most: readonly Bytes[];
}

/** By weight, rounded down; what a cap frees is shared out again, and the bytes that are left go one by one in name order. */
function divide(spareBytes: Bytes, { limits, weights, most }: Shares): void {
  let rest = spareBytes;
  let open: number[] = [];
  for (let n = 0; n < weights.length; n += 1) if ((weights[n] ?? 0) > 0 && (most[n] ?? 0) > 0) open.push(n);
  while (open.length > 0) {
    let total = 0;
    for (const n of open) total += weights[n] ?? 0;
    const round = rest;
    const stay = open.filter((n) => {
      const cap = most[n] ?? 0;
      if (cap === Number.POSITIVE_INFINITY || portion(round, weights[n] ?? 0, total) < cap) return true;
      limits[n] = (limits[n] ?? 0) + cap;
      rest -= cap;
      return false;
    });
    if (stay.length === open.length) return divideRest(round, { limits, weights, open, total });
    open = stay;
  }
}

interface Round extends Omit<Shares, 'most'> {
  readonly open: readonly number[];
  readonly total: number;
}

function divideRest(spareBytes: Bytes, { limits, weights, open, total }: Round): void {
  let left = spareBytes;
  for (const n of open) {
    const part = portion(spareBytes, weights[n] ?? 0, total);
    limits[n] = (limits[n] ?? 0) + part;
    left -= part;
  }
  for (const n of open) {
    if (left === 0) return;
    limits[n] = (limits[n] ?? 0) + 1;
    left -= 1;
  }
}

/** ⌊spare × weight / weights⌋, exact: with big integers where the product is above 2^53. */
function portion(spareBytes: Bytes, weight: number, weights: number): Bytes {
  const product = spareBytes * weight;
  if (Number.isSafeInteger(product)) return Math.floor(product / weights);
  return Number((BigInt(spareBytes) * BigInt(weight)) / BigInt(weights));
}

/** What a wake of it lacks on each of its GPUs beside what it is charged while it sleeps. */
export const wakeLackOf = (tenant: Tenant, releases: boolean): Bytes =>
  isDividedAsReleased(tenant, releases) ? Math.max(0, needOf(tenant) - (residueOf(tenant) ?? 0)) : 0;
