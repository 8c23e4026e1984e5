import { type Bytes, isReleased, needOf, type PoolGpu, residueOf, type Tenant } from './tenant.js';

/** The ledger of one GPU. Rooms may be negative: a wake that was asked for is charged before there is room for it. */
export interface Account {
  /** Σ reserve: what is promised. */
  readonly promisedBytes: Bytes;
  /** What it could offer with every neighbour at its floor. */
  readonly maximumRoomBytes: Bytes;
  /** What it could offer with every neighbour's cache as it is. */
  readonly roomNowBytes: Bytes;
}

/** What of the GPU is its own whatever happens: its residue while it is released, else all that it needs. */
export function reserveOf(tenant: Tenant, releases: boolean): Bytes {
  const residue = residueOf(tenant) ?? 0;
  return isReleased(tenant, releases) ? residue : Math.max(needOf(tenant), residue);
}

/** What it really takes up, at least its floor. */
export function heldOf(tenant: Tenant, releases: boolean): Bytes {
  const residue = residueOf(tenant) ?? 0;
  if (isReleased(tenant, releases)) return residue;
  return Math.max(tenant.footprintBytes + baseOf(tenant), residue);
}

/** The least KV limit of a tenant that is not released. One that is leaving is not lowered any more: it holds its limit. */
export function baseOf({ phase, kvFloorBytes, kvUsedBytes, limitBytes }: Tenant): Bytes {
  const base = kvFloorBytes > kvUsedBytes ? kvFloorBytes : kvUsedBytes;
  return phase === 'STOPPING' && limitBytes !== null && limitBytes > base ? limitBytes : base;
}

export function accountOf(gpu: PoolGpu, releases: boolean): Account {
  let promisedBytes = 0;
  let heldBytes = 0;
  for (const tenant of gpu.tenants) {
    promisedBytes += reserveOf(tenant, releases);
    heldBytes += heldOf(tenant, releases);
  }
  const free = gpu.usableBytes - gpu.heldBytes;
  return { promisedBytes, maximumRoomBytes: free - promisedBytes, roomNowBytes: free - heldBytes };
}

/** Both rooms hold it, and nothing about the GPU is unknown. */
export const admits = (gpu: PoolGpu, needBytes: Bytes, releases: boolean): boolean => {
  if (gpu.holes.length > 0) return false;
  const { maximumRoomBytes, roomNowBytes } = accountOf(gpu, releases);
  return maximumRoomBytes >= needBytes && roomNowBytes >= needBytes;
};
