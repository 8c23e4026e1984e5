/** Sizes are whole bytes. */
export type Bytes = number;

export type TenantPhase = 'STARTING' | 'ACTIVE' | 'SLEEPING' | 'WAKING' | 'MOVING' | 'STOPPING';

/** What one engine does on one GPU right now. null where its metrics could not be read. */
export interface EngineLoad {
  readonly running: number;
  readonly waiting: number;
}

/** A claim's instance on one GPU: a model on several GPUs is a tenant of each. */
export interface Tenant {
  /** Of the engine. */
  readonly id: string;
  readonly model: string;
  readonly phase: TenantPhase;
  /** F: weights and everything else but KV cache, at most. */
  readonly footprintBytes: Bytes;
  /** K: the larger of kvFloor and kvMin. */
  readonly kvFloorBytes: Bytes;
  readonly kvMaxBytes: Bytes | null;
  /** 0 by default; multiplies its weight by 1 + priority. */
  readonly priority: number;
  /** u: KV mapped now. */
  readonly kvUsedBytes: Bytes;
  /** s: measured while it sleeps, kept while it is stopped asleep; null: not known, or not believed. */
  readonly residueBytes: Bytes | null;
  /** Somebody asked for it while it slept, and it does not wake yet. */
  readonly isWakeAsked: boolean;
  readonly load: EngineLoad | null;
  /** In force, read back from the engine's segment; null: none yet, or not readable. */
  readonly limitBytes: Bytes | null;
}

/** One GPU of a pool's member. `usableBytes` is what the driver reports without its own reserve. */
export interface PoolGpu {
  readonly name: string;
  readonly usableBytes: Bytes;
  /** Room kept for claims that are being placed, or moved here. */
  readonly heldBytes: Bytes;
  /** What is not known of it: an agent that is silent, an engine of no claim … It admits nothing new, and says which. */
  readonly holes: readonly string[];
  readonly tenants: readonly Tenant[];
}

/** Of an engine that sleeps, or was stopped asleep; else null whatever was noted. */
export const residueOf = ({ phase, residueBytes }: Tenant): Bytes | null =>
  phase === 'SLEEPING' || phase === 'STOPPING' ? residueBytes : null;

/** It gave its reservation back: asleep in a pool that releases, with a residue that is known, and nobody asks for it. */
export const isReleased = (tenant: Tenant, releases: boolean): boolean =>
  releases && !tenant.isWakeAsked && residueOf(tenant) !== null;

/** F + K: what an instance needs to be placed or woken. */
export const needOf = ({ footprintBytes, kvFloorBytes }: Pick<Tenant, 'footprintBytes' | 'kvFloorBytes'>): Bytes =>
  footprintBytes + kvFloorBytes;

/** By model, then by engine. */
export const byName = (a: Pick<Tenant, 'model' | 'id'>, b: Pick<Tenant, 'model' | 'id'>): number =>
  a.model === b.model ? (a.id < b.id ? -1 : 1) : a.model < b.model ? -1 : 1;

/** The same list where it is in order already. */
export function inNameOrder<T extends Pick<Tenant, 'model' | 'id'>>(tenants: readonly T[]): readonly T[] {
  for (let n = 1; n < tenants.length; n += 1) {
    const before = tenants[n - 1];
    const here = tenants[n];
    if (before !== undefined && here !== undefined && byName(before, here) > 0) return tenants.toSorted(byName);
  }
  return tenants;
}
