import type {
  InstancePhase,
  OrderKind,
  PoolSnapshot,
  SnapshotClaim,
  SnapshotInstance,
  SnapshotMember,
} from '../contract/index.js';
import { type Bytes, byName, type EngineLoad, type PoolGpu, type Tenant, type TenantPhase } from './tenant.js';

/** An engine as a turn sees it, and changes it while it decides. It is a tenant of each of its GPUs. */
export interface Engine extends Tenant {
  readonly claim: SnapshotClaim;
  readonly replica: number;
  readonly member: SnapshotMember;
  readonly on: readonly Gpu[];
  phase: TenantPhase;
  /** Given before this turn or in it, and not settled. */
  order: OrderKind | null;
  readonly movesFrom: string | null;
  isWakeAsked: boolean;
  readonly load: EngineLoad | null;
  /** As the ledger recorded it last; null: never. */
  readonly plannedBytes: Bytes | null;
  /** null: placed in this turn. */
  readonly row: SnapshotInstance | null;
}

export interface Gpu extends PoolGpu {
  readonly member: SnapshotMember;
  /** Its member takes new engines. */
  readonly isOpen: boolean;
  heldBytes: Bytes;
  readonly holes: string[];
  readonly tenants: Engine[];
  /** Who is on it changed in this turn. */
  isTouched: boolean;
}

/** The working copy of one turn. */
export interface PoolState {
  readonly snapshot: PoolSnapshot;
  readonly nowMs: number;
  readonly releases: boolean;
  readonly gpus: readonly Gpu[];
  readonly gpuOf: ReadonlyMap<string, Gpu>;
  /** By name. */
  readonly engines: Engine[];
  /** By claim. */
  readonly enginesOf: ReadonlyMap<string, Engine[]>;
  /** By member's session. */
  readonly enginesAt: ReadonlyMap<string, Engine[]>;
}

export function poolState(snapshot: PoolSnapshot, nowMs: number): PoolState {
  const members = new Map(snapshot.members.map((member) => [member.sessionId, member]));
  const gpuOf = new Map<string, Gpu>();
  for (const { name, member: sessionId, usableBytes, holes } of snapshot.gpus) {
    const member = members.get(sessionId);
    if (member === undefined) continue;
    gpuOf.set(name, {
      name,
      member,
      isOpen: member.state === 'READY',
      usableBytes: usableBytes ?? 0,
      heldBytes: 0,
      holes: usableBytes === null ? [...holes, 'not measured'] : [...holes],
      tenants: [],
      isTouched: false,
    });
  }
  const enginesOf = new Map<string, Engine[]>(snapshot.claims.map(({ id }) => [id, []]));
  const claims = new Map(snapshot.claims.map((claim) => [claim.id, claim]));
  const engines = snapshot.instances.flatMap((row) => engineOf(row, { claims, members, gpuOf }) ?? []).sort(byName);
  const enginesAt = new Map<string, Engine[]>(snapshot.members.map(({ sessionId }) => [sessionId, []]));
  for (const engine of engines) {
    enginesOf.get(engine.claim.id)?.push(engine);
    enginesAt.get(engine.member.sessionId)?.push(engine);
    for (const gpu of engine.on) gpu.tenants.push(engine);
    if (engine.phase === 'STOPPING') for (const gpu of engine.on) tellLeaving(gpu);
  }
  const releases = snapshot.policy.noWakeReserveWhileAsleep;
  return { snapshot, nowMs, releases, gpus: [...gpuOf.values()], gpuOf, engines, enginesOf, enginesAt };
}

/** Once, also where the snapshot counts it already; without its name, since all who use the pool read it. */
function tellLeaving({ holes }: Gpu): void {
  if (!holes.some((hole) => hole.startsWith(STILL_LEAVING))) holes.push(`${STILL_LEAVING}: an engine`);
}

/** How a hole starts that is in the account: the engine that leaves is still charged. */
export const STILL_LEAVING = 'still leaving';

interface Known {
  readonly claims: ReadonlyMap<string, SnapshotClaim>;
  readonly members: ReadonlyMap<string, SnapshotMember>;
  readonly gpuOf: ReadonlyMap<string, Gpu>;
}

/** An engine of no claim is a hole of its GPUs. */
function engineOf(row: SnapshotInstance, { claims, members, gpuOf }: Known): Engine | null {
  const claim = claims.get(row.claimId);
  const member = members.get(row.member);
  const on = row.gpus.flatMap((name) => gpuOf.get(name) ?? []);
  if (claim === undefined || member === undefined) {
    for (const gpu of on) gpu.holes.push(`engine ${row.id} of no claim`);
    return null;
  }
  const phase = PHASES[row.phase];
  const engine = blank({ claim, member, on, id: row.id, replica: row.replica, movesFrom: row.movesFrom, row });
  engine.phase = phase;
  engine.order = row.order;
  engine.kvUsedBytes = row.kvUsedBytes;
  engine.residueBytes = row.residueBytes;
  engine.isWakeAsked = phase === 'SLEEPING' && claim.wakeAskedMs !== null;
  engine.load = loadOf(row);
  engine.limitBytes = row.limitBytes;
  engine.plannedBytes = row.plannedBytes;
  return engine;
}

type Identity = Pick<Engine, 'claim' | 'member' | 'on' | 'id' | 'replica' | 'movesFrom' | 'row'>;
type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
const NO_LOAD: EngineLoad = { running: 0, waiting: 0 };

/** One shape for all, written out: a turn makes hundreds, and reads them thousands of times. */
const blank = ({ claim, member, on, id, replica, movesFrom, row }: Identity): Writable<Engine> => ({
  id,
  model: claim.model,
  phase: 'STARTING',
  order: 'start',
  footprintBytes: claim.footprintBytes,
  kvFloorBytes: claim.kvFloorBytes,
  kvMaxBytes: claim.kvMaxBytes,
  priority: claim.priority,
  kvUsedBytes: 0,
  residueBytes: null,
  isWakeAsked: false,
  load: NO_LOAD,
  limitBytes: null,
  plannedBytes: null,
  claim,
  replica,
  member,
  on,
  movesFrom,
  row,
});

/** Only one that serves has a load to be read. */
function loadOf({ phase, running, waiting }: SnapshotInstance): EngineLoad | null {
  if (phase !== 'ACTIVE') return NO_LOAD;
  return running === null || waiting === null ? null : { running, waiting };
}

/** One that failed holds what it held until it is gone. */
const PHASES: Readonly<Record<InstancePhase, TenantPhase>> = {
  STARTING: 'STARTING',
  ACTIVE: 'ACTIVE',
  SLEEPING: 'SLEEPING',
  WAKING: 'WAKING',
  STOPPING: 'STOPPING',
  FAILED: 'STOPPING',
};

/** Stands for the id of an engine that the store has still to name. */
export const placeKey = (claimId: string, replica: number): string => `new:${claimId}/${replica}`;

export interface NewEngine {
  readonly claim: SnapshotClaim;
  readonly replica: number;
  readonly on: readonly [Gpu, ...Gpu[]];
  readonly movesFrom: string | null;
}

/** Charged at once on each of its GPUs. */
export function addEngine(state: PoolState, { claim, replica, on, movesFrom }: NewEngine): Engine {
  const id = placeKey(claim.id, replica);
  const engine: Engine = blank({ claim, member: on[0].member, on, id, replica, movesFrom, row: null });
  insert(state.engines, engine);
  state.enginesOf.get(claim.id)?.push(engine);
  state.enginesAt.get(engine.member.sessionId)?.push(engine);
  for (const gpu of on) {
    insert(gpu.tenants, engine);
    gpu.isTouched = true;
  }
  return engine;
}

function insert(engines: Engine[], engine: Engine): void {
  const at = engines.findIndex((each) => byName(each, engine) > 0);
  engines.splice(at === -1 ? engines.length : at, 0, engine);
}
