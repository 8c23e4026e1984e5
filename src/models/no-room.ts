import type { ClaimReason, SnapshotClaim } from '../contract/index.js';
import { accountOf } from './account.js';
import { gib } from './amounts.js';
import { opensTo } from './place-claim.js';
import type { Gpu, PoolState } from './pool-state.js';
import { type Bytes, needOf } from './tenant.js';

/** Of a claim, what decides whether it can be placed at all. */
export type Placeable = Pick<SnapshotClaim, 'footprintBytes' | 'kvFloorBytes' | 'failedForGood'>;

/** Why nothing can be placed at all; null: there are GPUs, and one of them is large enough. */
export function neverHere(state: PoolState, claim: Placeable): ClaimReason | null {
  const { gpus, snapshot } = state;
  if (claim.failedForGood !== null)
    return { code: 'EngineFailed', message: claim.failedForGood, data: { isFinal: true } };
  if (!gpus.some(({ isOpen }) => isOpen)) {
    const { code, message } = snapshot.membersWaitFor ?? { code: 'PoolEmpty' as const, message: noMember(state) };
    return { code, message, data: { pool: snapshot.pool } };
  }
  return tooLarge(state, claim);
}

const noMember = ({ snapshot }: PoolState): string => {
  const states = [...new Set(snapshot.members.map(({ state }) => state.toLowerCase()))].sort();
  const are = states.length === 0 ? 'it has none' : `they are ${states.join(', ')}`;
  return `no member of ${snapshot.pool} takes models: ${are}`;
};

/** One that is not measured yet may be larger. */
function tooLarge({ gpus, snapshot }: PoolState, claim: Placeable): ClaimReason | null {
  const needBytes = needOf(claim);
  let largest: Gpu | undefined;
  for (const gpu of gpus) {
    if (gpu.usableBytes >= needBytes || gpu.usableBytes === 0) return null;
    if (largest === undefined || gpu.usableBytes > largest.usableBytes) largest = gpu;
  }
  if (largest === undefined) return null;
  return {
    code: 'TooLargeForAnyGpu',
    message: `needs ${gib(needBytes)}; the largest GPU of ${snapshot.pool}, ${largest.name}, has ${gib(largest.usableBytes)}`,
    data: { needBytes, largest: largest.name, largestBytes: largest.usableBytes },
  };
}

/** The need, the nearest GPU and its sum, and how many others have less; what is not known is named. */
export function noRoom(state: PoolState, claim: SnapshotClaim): ClaimReason {
  const needBytes = needOf(claim);
  const open = opensTo(state, { claim });
  const known = open
    .filter(({ holes }) => holes.length === 0)
    .map((gpu) => ({ gpu, ...accountOf(gpu, state.releases) }))
    .sort((a, b) => b.maximumRoomBytes - a.maximumRoomBytes || (a.gpu.name < b.gpu.name ? -1 : 1));
  const nearest = known[0];
  const each = claim.gpusPerInstance > 1 ? ` on each of ${claim.gpusPerInstance} GPUs of one member` : '';
  const parts = [`needs ${gib(needBytes)}${each}`];
  if (nearest !== undefined) parts.push(sumOf(nearest, needBytes), ...others(known.length - 1));
  parts.push(...unknown(open), ...failedOn(state, claim));
  const isFailing = nearest === undefined && open.length === 0 && failedOn(state, claim).length > 0;
  const data = { needBytes, nearest: nearest?.gpu.name ?? null, roomBytes: nearest?.maximumRoomBytes ?? null };
  return { code: isFailing ? 'EngineFailed' : 'NoRoom', message: parts.join('; '), data };
}

interface Near {
  readonly gpu: Gpu;
  readonly maximumRoomBytes: Bytes;
  readonly roomNowBytes: Bytes;
}

function sumOf({ gpu, maximumRoomBytes, roomNowBytes }: Near, needBytes: Bytes): string {
  const atFloor = `${gpu.name} could offer at most ${gib(Math.max(0, maximumRoomBytes))} with every neighbour at its floor`;
  return maximumRoomBytes >= needBytes && roomNowBytes < needBytes
    ? `${atFloor}, and ${gib(Math.max(0, roomNowBytes))} as they are now`
    : atFloor;
}

const others = (count: number): readonly string[] =>
  count === 0 ? [] : [count === 1 ? '1 other GPU less' : `${count} other GPUs less`];

function unknown(open: readonly Gpu[]): readonly string[] {
  const holes = open.filter((gpu) => gpu.holes.length > 0).map((gpu) => `${gpu.name}: ${gpu.holes.join(', ')}`);
  return holes.length === 0 ? [] : [`not known: ${holes.join('; ')}`];
}

function failedOn({ nowMs }: PoolState, { avoid }: SnapshotClaim): readonly string[] {
  const names = avoid.filter(({ untilMs }) => untilMs > nowMs).map(({ gpu }) => gpu);
  return names.length === 0 ? [] : [`it failed a moment ago on ${names.join(', ')}`];
}
