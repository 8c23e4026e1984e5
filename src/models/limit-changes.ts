import { type Bytes, inNameOrder, type PoolGpu, type Tenant } from './tenant.js';

/** Below this a change of a limit is not worth its write: 512 MiB, or a hundredth of the GPU where that is more. */
export const SMALLEST_CHANGE_BYTES = 512 * 2 ** 20;

export interface LimitWrite {
  /** Of the engine. */
  readonly id: string;
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

export function limitWrites(gpu: Pick<PoolGpu, 'tenants'>, planned: ReadonlyMap<string, Bytes>): LimitWrites {
  const lower: LimitWrite[] = [];
  const raise: LimitWrite[] = [];
  for (const tenant of inNameOrder(gpu.tenants)) {
    const { id, model, limitBytes: fromBytes } = tenant;
    const toBytes = planned.get(id);
    if (toBytes === undefined || toBytes === fromBytes || tenant.phase === 'STOPPING') continue;
    const write = { id, model, fromBytes, toBytes };
    (isLower(tenant, toBytes) ? lower : raise).push(write);
  }
  return { lower, raise };
}

/**
 * A limit that nobody can read may be anything: it is written down first. That of an engine that has still to be started is
 * made once its neighbours gave way.
 */
const isLower = ({ phase, limitBytes }: Tenant, toBytes: Bytes): boolean =>
  limitBytes === null ? phase !== 'STARTING' : toBytes < limitBytes;

export type ChangeCause = 'short' | 'differs' | 'at-rest';

/** What a look saw of a GPU, and what the look before it saw. By engine. */
export interface Look {
  /** Limits as the ledger has them recorded. */
  readonly recorded: ReadonlyMap<string, Bytes>;
  /** Engines that were short and would have gained at the look before. */
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
  const least = Math.max(SMALLEST_CHANGE_BYTES, Math.ceil(gpu.usableBytes / 100));
  let isLarge = false;
  let isAtRest = true;
  let short: string | null = null;
  let starved: string | null = null;
  for (const tenant of inNameOrder(gpu.tenants)) {
    const { id, model, phase, limitBytes, load } = tenant;
    if (phase === 'STOPPING') continue;
    if (limitBytes !== (look.recorded.get(id) ?? limitBytes)) return { cause: 'differs', model };
    const change = (planned.get(id) ?? 0) - (limitBytes ?? 0);
    if (change >= least || -change >= least) isLarge = true;
    if (phase === 'SLEEPING') continue;
    if (load === null || load.running + load.waiting > 0) isAtRest = false;
    if (short === null && change > 0 && isShort(tenant) && look.shortBefore.has(id)) short = model;
    if (starved === null && (limitBytes ?? 0) * 2 < (planned.get(id) ?? 0)) starved = model;
  }
  if (!isLarge) return null;
  if (short !== null) return { cause: 'short', model: short };
  return isAtRest && starved !== null ? { cause: 'at-rest', model: starved } : null;
}

/** Engines that need more and would get it: to be kept for the next look. */
export const shortOf = (gpu: Pick<PoolGpu, 'tenants'>, planned: ReadonlyMap<string, Bytes>): readonly string[] =>
  inNameOrder(gpu.tenants)
    .filter((tenant) => isShort(tenant) && (planned.get(tenant.id) ?? 0) > (tenant.limitBytes ?? 0))
    .map(({ id }) => id);

/** Half of its limit in use, requests waiting, or a load that cannot be read. */
const isShort = ({ phase, load, kvUsedBytes, limitBytes }: Tenant): boolean =>
  phase === 'ACTIVE' && limitBytes !== null && (load === null || load.waiting > 0 || kvUsedBytes * 2 >= limitBytes);
