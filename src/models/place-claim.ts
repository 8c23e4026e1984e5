import type { SnapshotClaim, SnapshotMember } from '../contract/index.js';
import { accountOf } from './account.js';
import { gib } from './amounts.js';
import type { Gpu, PoolState } from './pool-state.js';
import { roomWithAsks } from './room-book.js';
import { type Bytes, needOf } from './tenant.js';

export interface PlaceAsk {
  readonly claim: SnapshotClaim;
  /** It leaves this one. */
  readonly exceptMember?: SnapshotMember;
  /** Its own hold, which is no obstacle to it. */
  readonly own?: { readonly gpus: readonly string[]; readonly bytes: Bytes };
}

export interface Found {
  /** All of one member. */
  readonly gpus: readonly [Gpu, ...Gpu[]];
  readonly because: string;
}

/** Where it may be at all: members that take engines, not where it failed a moment ago, not beside another replica of it. */
export function opensTo(state: PoolState, { claim, exceptMember }: PlaceAsk): readonly Gpu[] {
  const taken = new Set<Gpu>();
  for (const engine of state.enginesOf.get(claim.id) ?? []) for (const gpu of engine.on) taken.add(gpu);
  for (const { gpu: name, untilMs } of claim.avoid) {
    const gpu = state.gpuOf.get(name);
    if (gpu !== undefined && untilMs > state.nowMs) taken.add(gpu);
  }
  return state.gpus.filter((gpu) => gpu.isOpen && gpu.member !== exceptMember && !taken.has(gpu));
}

/**
 * Where an instance goes among the GPUs that admit it: where its artifact is cached, then `spread` (fewest awake, then most
 * room) or `pack` (least room that fits), then by name. One on several GPUs takes the best of one member. null: nowhere now.
 */
export function placeOn(state: PoolState, ask: PlaceAsk): Found | null {
  const { claim, own } = ask;
  const needBytes = needOf(claim);
  const admitting = opensTo(state, ask).filter((gpu) => {
    if (gpu.holes.length > 0) return false;
    const ownBytes = own?.gpus.includes(gpu.name) === true ? own.bytes : 0;
    return roomWithAsks(gpu, state.releases) + ownBytes >= needBytes;
  });
  const best = setsOf(state, claim, admitting)[0];
  return best === undefined ? null : { gpus: best.gpus, because: becauseOf(state, best) };
}

export interface GpuSet {
  readonly gpus: readonly [Gpu, ...Gpu[]];
  readonly isCached: boolean;
  readonly awake: number;
  readonly roomBytes: Bytes;
}

/** The sets that a claim may take of these GPUs, the best first: of each member the best that it has. */
export function setsOf(state: PoolState, claim: SnapshotClaim, gpus: readonly Gpu[]): readonly GpuSet[] {
  const { placement } = state.snapshot.policy;
  const order = (a: GpuSet, b: GpuSet): number =>
    Number(b.isCached) - Number(a.isCached) ||
    (placement === 'spread' ? a.awake - b.awake || b.roomBytes - a.roomBytes : a.roomBytes - b.roomBytes) ||
    (a.gpus[0].name < b.gpus[0].name ? -1 : 1);
  const singles = gpus.map((gpu) => setOf(state, claim, [gpu])).sort(order);
  if (claim.gpusPerInstance === 1) return singles;
  const byMember = new Map<SnapshotMember, Gpu[]>();
  for (const {
    gpus: [gpu],
  } of singles)
    byMember.set(gpu.member, [...(byMember.get(gpu.member) ?? []), gpu]);
  return [...byMember.values()]
    .flatMap((all) => {
      const [first, ...rest] = all.slice(0, claim.gpusPerInstance);
      return first === undefined || all.length < claim.gpusPerInstance ? [] : [setOf(state, claim, [first, ...rest])];
    })
    .sort(order);
}

function setOf(state: PoolState, claim: SnapshotClaim, gpus: readonly [Gpu, ...Gpu[]]): GpuSet {
  let awake = 0;
  let roomBytes = 0;
  for (const gpu of gpus) {
    for (const { phase } of gpu.tenants) if (phase !== 'SLEEPING' && phase !== 'STOPPING') awake += 1;
    roomBytes += accountOf(gpu, state.releases).maximumRoomBytes;
  }
  return { gpus, isCached: gpus[0].member.cached.includes(claim.artifactUrl), awake, roomBytes };
}

function becauseOf({ snapshot }: PoolState, { gpus, isCached, awake, roomBytes }: GpuSet): string {
  const cached = isCached ? 'its artifact is there; ' : '';
  const policy = snapshot.policy.placement === 'spread' ? `${awake} awake` : 'the least room that fits';
  return `${gpus.map(({ name }) => name).join(', ')}: ${cached}${policy}, room ${gib(roomBytes)}`;
}
