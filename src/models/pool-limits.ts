import type { InstanceLimitWrite, PoolPlan } from '../contract/index.js';
import { isDividedAsReleased, type KvCaps, kvShares } from './kv-limits.js';
import { changeIsDue, type Look, limitWrites, SMALLEST_CHANGE_BYTES, shortOf } from './limit-changes.js';
import type { Engine, Gpu, PoolState } from './pool-state.js';
import { isBlind } from './room-book.js';
import { type Bytes, residueOf } from './tenant.js';

type PlannedLimits = Pick<PoolPlan, 'limits' | 'planned' | 'short'>;

/**
 * The limits of all GPUs: divided anew where the engines on it changed, or where a look asks for it; else as recorded. What
 * they come to is written in two stages, lower first.
 */
export function planLimits(state: PoolState): PlannedLimits {
  const { engines, gpus } = state;
  const divided = dividePool(state);
  const look = lookOf(engines);
  const dueBecause = new Map<Gpu, string>();
  const short = new Set<string>();
  for (const gpu of gpus) {
    if (gpu.tenants.length === 0 || isBlind(gpu)) continue;
    for (const id of shortOf(gpu, divided)) short.add(id);
    const because = whyDue(state, gpu, { divided, look });
    if (because !== null) dueBecause.set(gpu, because);
  }
  const planned: Record<string, number> = {};
  for (const engine of engines) {
    const { id, on, plannedBytes, phase } = engine;
    const isDue = phase !== 'STOPPING' && on.some((gpu) => dueBecause.has(gpu));
    const bytes = isDue ? divided.get(id) : (plannedBytes ?? undefined);
    if (bytes !== undefined) planned[id] = bytes;
  }
  return { limits: writesOf(state, dueBecause, planned), planned, short: [...short].sort() };
}

/** One on several GPUs has one limit: the smallest over them. What that frees is shared out again, the tightest first. */
export function dividePool({ gpus, releases }: Pick<PoolState, 'gpus' | 'releases'>): ReadonlyMap<string, Bytes> {
  const limits = new Map<string, Bytes>();
  const spread = new Set<Engine>();
  for (const gpu of gpus) {
    const shares = kvShares(gpu, releases);
    gpu.tenants.forEach((engine, n) => {
      const share = shares[n] ?? 0;
      limits.set(engine.id, Math.min(share, limits.get(engine.id) ?? share));
      if (engine.on.length > 1) spread.add(engine);
    });
  }
  const caps = new Map<string, Bytes>();
  for (let open = [...spread]; open.length > 0; ) {
    const tightest = open.reduce((a, b) => ((limits.get(b.id) ?? 0) < (limits.get(a.id) ?? 0) ? b : a));
    caps.set(tightest.id, limits.get(tightest.id) ?? 0);
    open = open.filter((engine) => engine !== tightest);
    divideAgain([...new Set([tightest, ...open].flatMap(({ on }) => on))], { caps, limits, releases });
  }
  return limits;
}

interface Again {
  readonly caps: KvCaps;
  readonly limits: Map<string, Bytes>;
  readonly releases: boolean;
}

function divideAgain(gpus: readonly Gpu[], { caps, limits, releases }: Again): void {
  const seen = new Set<string>();
  for (const gpu of gpus) {
    const shares = kvShares(gpu, releases, caps);
    gpu.tenants.forEach(({ id }, n) => {
      const share = shares[n] ?? 0;
      limits.set(id, seen.has(id) ? Math.min(share, limits.get(id) ?? share) : share);
      seen.add(id);
    });
  }
}

function lookOf(engines: readonly Engine[]): Look {
  const recorded = new Map<string, Bytes>();
  const shortBefore = new Set<string>();
  for (const { id, plannedBytes, row } of engines) {
    if (plannedBytes !== null) recorded.set(id, plannedBytes);
    if (row?.shortBefore === true) shortBefore.add(id);
  }
  return { recorded, shortBefore };
}

interface Division {
  readonly divided: ReadonlyMap<string, Bytes>;
  readonly look: Look;
}

function whyDue({ releases }: PoolState, gpu: Gpu, { divided, look }: Division): string | null {
  if (gpu.isTouched || !recordStands(gpu, divided, releases)) return `who shares ${gpu.name} has changed`;
  const due = changeIsDue(gpu, divided, look);
  if (due === null) return null;
  const { cause, model } = due;
  if (cause === 'differs') return `the limit in force of ${model} is not the recorded one`;
  return cause === 'short'
    ? `${model} is short of KV cache`
    : `${gpu.name} is at rest, and ${model} has less than half of its share`;
}

/**
 * Whether the record is a division among those that are there now, whatever load it was made for: then they did not change,
 * and a split outlives its load. Arrivals, ends, sleeps and wakes all break it.
 */
function recordStands(gpu: Gpu, divided: ReadonlyMap<string, Bytes>, releases: boolean): boolean {
  let recorded = 0;
  let now = 0;
  for (const engine of gpu.tenants) {
    const { id, phase, plannedBytes, kvFloorBytes, kvMaxBytes } = engine;
    if (phase === 'STOPPING') continue;
    const share = divided.get(id) ?? 0;
    if (plannedBytes === null) return false;
    if (phase === 'SLEEPING' && plannedBytes >= share + SMALLEST_CHANGE_BYTES) return false;
    if (isDividedAsReleased(engine, releases)) {
      if (plannedBytes > share && plannedBytes >= kvFloorBytes) return false;
      continue;
    }
    if (phase !== 'SLEEPING' && plannedBytes < kvFloorBytes) return false;
    if (plannedBytes > Math.max(kvMaxBytes ?? Number.POSITIVE_INFINITY, share)) return false;
    recorded += plannedBytes;
    now += share;
  }
  return recorded === now;
}

/** Nothing rises on a GPU whose engines would not fit beside each other with it. */
function writesOf(
  state: PoolState,
  dueBecause: ReadonlyMap<Gpu, string>,
  planned: Readonly<Record<string, number>>,
): PoolPlan['limits'] {
  const byMember = new Map<string, PoolPlan['limits'][number]>();
  const targets = new Map(Object.entries(planned));
  const done = new Set<string>();
  for (const [gpu, because] of dueBecause) {
    const { lower, raise } = limitWrites(gpu, targets);
    const { sessionId: member, node } = gpu.member;
    const entry = byMember.get(member) ?? { member, node, because, lower: [], raise: [] };
    if (entry.because !== because && !entry.because.includes(because)) entry.because = `${entry.because}; ${because}`;
    const write = ({ id, ...rest }: (typeof lower)[number]): readonly InstanceLimitWrite[] => {
      if (done.has(id)) return [];
      done.add(id);
      return [{ instanceId: id, ...rest }];
    };
    entry.lower.push(...lower.flatMap(write));
    entry.raise.push(...raise.filter(({ id }) => mayRise(state, gpu, { id, planned })).flatMap(write));
    if (entry.lower.length + entry.raise.length > 0) byMember.set(member, entry);
  }
  return [...byMember.values()];
}

interface Rise {
  readonly id: string;
  readonly planned: Readonly<Record<string, number>>;
}

function mayRise({ releases }: PoolState, { tenants }: Gpu, { id, planned }: Rise): boolean {
  const engine = tenants.find((each) => each.id === id);
  return engine !== undefined && engine.on.every((gpu) => !isBlind(gpu) && fits(gpu, planned, releases));
}

function fits({ tenants, usableBytes }: Gpu, planned: Readonly<Record<string, number>>, releases: boolean): boolean {
  let taken = 0;
  for (const engine of tenants) {
    const { id, footprintBytes, phase, limitBytes, kvUsedBytes } = engine;
    if (isDividedAsReleased(engine, releases)) taken += residueOf(engine) ?? 0;
    else {
      const least = phase === 'STOPPING' ? Math.max(limitBytes ?? 0, kvUsedBytes) : 0;
      taken += footprintBytes + Math.max(least, phase === 'STOPPING' ? 0 : (planned[id] ?? limitBytes ?? 0));
    }
  }
  return taken <= usableBytes;
}
