import type { Bytes, PoolGpu, Tenant } from './tenant.js';

/** Below this a change of a limit is not worth its write: 512 MiB, or a hundredth of the GPU where that is more. */
export const SMALLEST_CHANGE_BYTES = 512 * 2 ** 20;

export interface LimitWrite {
  readonly model: string;
  /** null: there is none yet. */
  readonly fromBytes: Bytes | null;
  readonly toBytes: Bytes;
}

/**
 * The writes that lead from the limits in force to the planned ones, in order: `lower` first, each read back, then `raise`.
 * In between no instant promises more than the GPU has. Where a lower limit is not in force (the answer was lost, the engine
 * uses more), nothing is raised.
 */
export interface LimitWrites {
  readonly lower: readonly LimitWrite[];
  readonly raise: readonly LimitWrite[];
}

export function limitWrites(gpu: PoolGpu, planned: ReadonlyMap<string, Bytes>): LimitWrites {
  const lower: LimitWrite[] = [];
  const raise: LimitWrite[] = [];
  for (const { model, limitBytes: fromBytes } of byName(gpu.tenants)) {
    const toBytes = planned.get(model);
    if (toBytes === undefined || toBytes === fromBytes) continue;
    // A limit that nobody can read may be anything: it is written down first.
    if (fromBytes === null || toBytes < fromBytes) lower.push({ model, fromBytes, toBytes });
    else raise.push({ model, fromBytes, toBytes });
  }
  return { lower, raise };
}

export type ChangeCause = 'short' | 'differs' | 'at-rest';

/** What a look saw of a GPU, and what the look before it saw. */
export interface Look {
  /** Limits as the ledger has them recorded. */
  readonly recorded: ReadonlyMap<string, Bytes>;
  /** Models that were short and would have gained at the look before. */
  readonly shortBefore: ReadonlySet<string>;
}

/**
 * Whether a look that nobody asked for changes the limits: an engine is short and would gain twice in a row, a limit in
 * force differs from the record, or the GPU is at rest and an awake engine has less than half of its plan; and some change
 * is large enough. null: everything stays, so a split outlives the load that made it.
 */
export function changeIsDue(
  gpu: PoolGpu,
  planned: ReadonlyMap<string, Bytes>,
  look: Look,
): { readonly cause: ChangeCause; readonly model: string } | null {
  const tenants = byName(gpu.tenants);
  const differing = tenants.find(({ model, limitBytes }) => limitBytes !== (look.recorded.get(model) ?? limitBytes));
  if (differing !== undefined) return { cause: 'differs', model: differing.model };
  if (!tenants.some((tenant) => isLarge(gpu, changeOf(tenant, planned)))) return null;
  const short = shortOf(gpu, planned).find((model) => look.shortBefore.has(model));
  if (short !== undefined) return { cause: 'short', model: short };
  const starved = isAtRest(gpu) ? tenants.find((tenant) => hasLessThanHalf(tenant, planned)) : undefined;
  return starved === undefined ? null : { cause: 'at-rest', model: starved.model };
}

/** Engines that need more and would get it: to be kept for the next look. */
export const shortOf = (gpu: PoolGpu, planned: ReadonlyMap<string, Bytes>): readonly string[] =>
  byName(gpu.tenants)
    .filter((tenant) => isShort(tenant) && changeOf(tenant, planned) > 0)
    .map(({ model }) => model);

const byName = (tenants: readonly Tenant[]): readonly Tenant[] =>
  tenants.toSorted((a, b) => (a.model < b.model ? -1 : 1));

const changeOf = ({ model, limitBytes }: Tenant, planned: ReadonlyMap<string, Bytes>): Bytes =>
  (planned.get(model) ?? 0) - (limitBytes ?? 0);

const isLarge = ({ usableBytes }: PoolGpu, change: Bytes): boolean =>
  Math.abs(change) >= Math.max(SMALLEST_CHANGE_BYTES, Math.ceil(usableBytes / 100));

/** Half of its limit in use, requests waiting, or a load that cannot be read. */
const isShort = ({ phase, load, kvUsedBytes, limitBytes }: Tenant): boolean =>
  phase !== 'SLEEPING' && (load === null || load.waiting > 0 || kvUsedBytes * 2 >= (limitBytes ?? 0));

const isAtRest = ({ tenants }: PoolGpu): boolean =>
  tenants.every(({ phase, load }) => phase === 'SLEEPING' || (load !== null && load.running + load.waiting === 0));

const hasLessThanHalf = (tenant: Tenant, planned: ReadonlyMap<string, Bytes>): boolean =>
  tenant.phase !== 'SLEEPING' && (tenant.limitBytes ?? 0) * 2 < (planned.get(tenant.model) ?? 0);
