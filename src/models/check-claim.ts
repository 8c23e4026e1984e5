import type { CreateModelClaim, PoolSnapshot, SnapshotClaim } from '../contract/index.js';
import { accountOf } from './account.js';
import { gib } from './amounts.js';
import { heldOn } from './held-on.js';
import { type Engine, type Gpu, poolState } from './pool-state.js';
import { type Bytes, isReleased } from './tenant.js';

/** `field` is a JSON pointer into the request. */
export interface ClaimRefusal {
  readonly field: string;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}
export interface ClaimPool {
  readonly engine: string;
  readonly gpusPerMember: number;
}
type NewClaim = Pick<
  CreateModelClaim,
  'perGpu' | 'kvMin' | 'kvMax' | 'parallel' | 'engine' | 'pinned' | 'sleep' | 'artifactUrl' | 'artifactSha256'
>;

/** Why a new claim is not recorded, by what it asks for and what members of the pool are; null: it is. */
export function checkClaim(claim: NewClaim, pool: ClaimPool): ClaimRefusal | null {
  return (
    boundsRefusal({ ...claim, kvFloor: claim.perGpu.kvFloor }) ??
    parallelRefusal(claim.parallel, pool) ??
    engineRefusal(claim, pool) ??
    checksumRefusal(claim) ??
    sleepRefusal(claim)
  );
}

interface KvBounds {
  readonly kvFloor: Bytes;
  readonly kvMin: Bytes | null;
  readonly kvMax: Bytes | null;
}

/** K is the larger of both floors. */
function boundsRefusal({ kvFloor, kvMin, kvMax }: KvBounds): ClaimRefusal | null {
  const floorBytes = Math.max(kvFloor, kvMin ?? 0);
  if (kvMax === null || kvMax >= floorBytes) return null;
  const name = floorBytes === kvFloor ? 'perGpu.kvFloor' : 'kvMin';
  return {
    field: '/kvMax',
    message: `${gib(kvMax)} is below ${name} (${gib(floorBytes)}): it could not serve`,
    data: { kvMaxBytes: kvMax, kvFloorBytes: floorBytes },
  };
}

function parallelRefusal({ tensor, pipeline }: NewClaim['parallel'], pool: ClaimPool): ClaimRefusal | null {
  const needGpus = tensor * pipeline;
  const { gpusPerMember } = pool;
  if (needGpus <= gpusPerMember && gpusPerMember % needGpus === 0) return null;
  const fits = Array.from({ length: gpusPerMember }, (_, index) => index + 1).filter((n) => gpusPerMember % n === 0);
  return {
    field: '/parallel',
    message: `tensor × pipeline is ${needGpus}, and a member of the pool has ${gpusPerMember} GPUs: ${fits.join(', ')} match`,
    data: { needGpus, gpusPerMember },
  };
}

const engineRefusal = ({ engine }: NewClaim, pool: ClaimPool): ClaimRefusal | null =>
  engine === undefined || engine === pool.engine
    ? null
    : {
        field: '/engine',
        message: `the pool runs ${pool.engine}: leave it out, or claim from a pool that runs ${engine}`,
        data: { poolEngine: pool.engine },
      };

const checksumRefusal = ({ artifactUrl, artifactSha256 }: NewClaim): ClaimRefusal | null =>
  artifactSha256 === null || artifactUrl.startsWith('https://')
    ? null
    : { field: '/artifactSha256', message: 'goes with an https:// artifact, which is one file', data: {} };

const sleepRefusal = ({ pinned, sleep }: NewClaim): ClaimRefusal | null =>
  (pinned || sleep.never) && sleep.afterSeconds !== null
    ? {
        field: '/sleep/afterSeconds',
        message: `${pinned ? 'a pinned model' : 'one with sleep.never'} never sleeps: leave one of both out`,
        data: {},
      }
    : null;

export interface ClaimChange {
  readonly perGpu?: { readonly maximumFootprint?: Bytes | undefined; readonly kvFloor?: Bytes | undefined } | undefined;
  readonly kvMin?: Bytes | null | undefined;
  readonly kvMax?: Bytes | null | undefined;
}

/** Why a claim's figures are not changed: bounds that contradict, or a raise that its neighbours leave no room for; null: they are. */
export function checkClaimChange(snapshot: PoolSnapshot, claimId: string, change: ClaimChange): ClaimRefusal | null {
  const claim = snapshot.claims.find(({ id }) => id === claimId);
  if (claim === undefined) return null;
  const { perGpu = {}, kvMin = claim.kvMinBytes, kvMax = claim.kvMaxBytes } = change;
  const { maximumFootprint = claim.footprintBytes, kvFloor = claim.declaredFloorBytes ?? claim.kvFloorBytes } = perGpu;
  const bounds = boundsRefusal({ kvFloor, kvMin, kvMax });
  if (bounds !== null) return bounds;
  const wanted: Figures = { footprintBytes: maximumFootprint, kvFloorBytes: Math.max(kvFloor, kvMin ?? 0) };
  if (wanted.footprintBytes <= claim.footprintBytes && wanted.kvFloorBytes <= claim.kvFloorBytes) return null;
  const { gpus, releases } = poolState(snapshot, 0);
  for (const gpu of gpus) {
    for (const own of gpu.tenants) {
      if (own.claim.id !== claimId) continue;
      const refused = raiseRefusal({ ...gpu, heldBytes: heldOn(snapshot, gpu.name) }, own, { wanted, releases });
      if (refused !== null) return { ...refused, field: fieldOf(wanted, claim) };
    }
  }
  return null;
}

type Figures = Pick<SnapshotClaim, 'footprintBytes' | 'kvFloorBytes'>;
const sumOf = ({ footprintBytes, kvFloorBytes }: Figures): Bytes => footprintBytes + kvFloorBytes;
const fieldOf = (wanted: Figures, present: Figures): string =>
  wanted.footprintBytes > present.footprintBytes ? '/perGpu/maximumFootprint' : '/perGpu/kvFloor';

/** On a GPU where it is: a sleeper that gave its reservation away has nothing there to raise. */
function raiseRefusal(
  gpu: Gpu,
  own: Engine,
  { wanted, releases }: { readonly wanted: Figures; readonly releases: boolean },
): Omit<ClaimRefusal, 'field'> | null {
  if (isReleased(own, releases)) return null;
  if (gpu.holes.length > 0) {
    return {
      message: `what ${gpu.name} has left is not known now (${gpu.holes.join(', ')}): ask again`,
      data: { gpu: gpu.name, holes: gpu.holes },
    };
  }
  const tenants = gpu.tenants.filter((tenant) => tenant !== own);
  const { maximumRoomBytes, roomNowBytes } = accountOf({ ...gpu, tenants }, releases);
  const usedAboveBytes = Math.max(0, own.kvUsedBytes - wanted.kvFloorBytes);
  const roomBytes = Math.min(maximumRoomBytes, roomNowBytes - usedAboveBytes);
  if (sumOf(wanted) <= roomBytes) return null;
  return {
    message: `needs ${gib(sumOf(wanted))}, and ${gpu.name} has ${gib(Math.max(0, roomBytes))} for it beside its neighbours`,
    data: { gpu: gpu.name, needBytes: sumOf(wanted), roomBytes },
  };
}
