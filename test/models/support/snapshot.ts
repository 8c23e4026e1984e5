import type {
  PoolPolicy,
  PoolSnapshot,
  SnapshotClaim,
  SnapshotGpu,
  SnapshotInstance,
  SnapshotMember,
} from '../../../src/contract/index.js';
import { poolSnapshotSchema } from '../../../src/contract/index.js';
import { gib } from '../gpu.js';

export const NOW = 1_000_000_000;
/** Seconds ago. */
export const ago = (seconds: number): number => NOW - seconds * 1000;

/** A claim of 30 + 10 GiB that was made long ago. */
export const claim = (model: string, change: Partial<SnapshotClaim> = {}): Partial<SnapshotClaim> => ({
  id: `claim-${model}`,
  model,
  createdMs: ago(7200),
  footprintBytes: gib(30),
  kvFloorBytes: gib(10),
  ...change,
});

type Engine = Partial<SnapshotInstance> & { readonly model: string };

/** An idle awake engine of a claim on `h20-a/0`, with an even share of two as its limit, idle for a minute and awake for an hour. */
export const engine = (model: string, change: Partial<SnapshotInstance> = {}): Engine => ({
  model,
  id: model,
  claimId: `claim-${model}`,
  member: 'member-a',
  gpus: ['h20-a/0'],
  phase: 'ACTIVE',
  limitBytes: gib(17.55),
  plannedBytes: gib(17.55),
  running: 0,
  waiting: 0,
  idleSinceMs: ago(60),
  awakeSinceMs: ago(3600),
  ...change,
});

/** Asleep at 1.33 GiB, in the host's memory with 16. */
export const sleeper = (model: string, change: Partial<SnapshotInstance> = {}): Engine =>
  engine(model, {
    phase: 'SLEEPING',
    residueBytes: gib(1.33),
    lastResidueBytes: gib(1.33),
    hostBytes: gib(16),
    limitBytes: 0,
    plannedBytes: 0,
    running: null,
    waiting: null,
    ...change,
  });

/** In flight so that it weighs five. */
export const SERVES = { running: 3, waiting: 1, idleSinceMs: null };

export const member = (name: string, change: Partial<SnapshotMember> = {}): Partial<SnapshotMember> => ({
  sessionId: `member-${name}`,
  node: `h20-${name}`,
  state: 'READY',
  hostMemoryBytes: gib(1000),
  hostUsedBytes: 0,
  ...change,
});

export const device = (name: string, change: Partial<SnapshotGpu> = {}): Partial<SnapshotGpu> => ({
  name: `h20-${name}`,
  member: `member-${name.split('/')[0] ?? ''}`,
  device: `GPU-${name}`,
  usableBytes: gib(95.1),
  ...change,
});

interface Given extends Omit<Partial<PoolSnapshot>, 'policy' | 'gpus' | 'members' | 'claims' | 'instances'> {
  readonly policy?: Partial<PoolPolicy>;
  readonly gpus?: readonly Partial<SnapshotGpu>[];
  readonly members?: readonly Partial<SnapshotMember>[];
  /** Those that engines belong to are added. */
  readonly claims?: readonly Partial<SnapshotClaim>[];
  readonly engines?: readonly Engine[];
}

/** One GPU of 95.1 GiB unless others are given; a pool that releases. */
export function pool({ policy = {}, engines = [], claims = [], ...rest }: Given = {}): PoolSnapshot {
  const named = new Set(claims.map(({ id }) => id));
  const own = engines.filter(({ claimId }) => !named.has(claimId)).map(({ model }) => claim(model));
  const unique = [...new Map(own.map((each) => [each.id, each])).values()];
  return poolSnapshotSchema.parse({
    pool: 'h20',
    gpus: [device('a/0')],
    members: [member('a')],
    ...rest,
    policy: { noWakeReserveWhileAsleep: true, ...policy },
    claims: [...unique, ...claims],
    instances: engines.map(({ model: _model, ...instance }) => instance),
  });
}
