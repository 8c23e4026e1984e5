import { groupPolicySchema } from '../../src/contract/group-policy.js';
import type { KernelId, SessionId } from '../../src/contract/ids.js';
import type { Slots } from '../../src/contract/slots.js';
import type {
  Snapshot,
  SnapshotHold,
  SnapshotNode,
  SnapshotPending,
  SnapshotQuota,
  SnapshotRunning,
} from '../../src/contract/snapshot.js';

export const GIB = 2 ** 30;
export const NOW = '2026-11-30T12:00:00.000Z';

const padded = (n: number): string => String(n).padStart(26, '0');
/** Ids sort by `n`. */
export const sessionId = (n: number): SessionId => `ses_${padded(n)}` as SessionId;
export const kernelId = (n: number, k: number): KernelId =>
  `krn_${String(n).padStart(20, '0')}${String(k).padStart(6, '0')}` as KernelId;

/** Whole cores and GiB, devices as `gpus` × `model`; the first `held` devices are taken. */
export interface NodeShape {
  readonly cpu?: number;
  readonly usedCpu?: number;
  readonly gib?: number;
  readonly usedGib?: number;
  readonly gpus?: number;
  readonly held?: number;
  readonly broken?: number;
  readonly model?: string;
  readonly models?: readonly string[];
  readonly state?: SnapshotNode['state'];
  readonly zone?: string | null;
  readonly architecture?: string;
  readonly sharing?: SnapshotNode['devices'][number]['sharing'];
  /** GiB of the devices, in turn; 24 each unless said. */
  readonly memoryGib?: readonly number[];
  /** GiB promised in shares, one per device, from the first. */
  readonly shared?: readonly number[];
}

export function node(name: string, shape: NodeShape = {}): SnapshotNode {
  const { cpu = 64, gib = 256, gpus = 0, held = 0, broken = 0, model = 'sim-24g' } = shape;
  const models = shape.models ?? new Array<string>(gpus).fill(model);
  return {
    name,
    architecture: shape.architecture ?? 'amd64',
    zone: shape.zone ?? null,
    state: shape.state ?? 'READY',
    capacity: { cpuMilli: cpu * 1000, memoryBytes: gib * GIB },
    used: { cpuMilli: (shape.usedCpu ?? 0) * 1000, memoryBytes: (shape.usedGib ?? 0) * GIB },
    devices: models.map((name_, d) => ({
      id: `${name}-${d}`,
      model: name_,
      memoryBytes: (shape.memoryGib?.[d] ?? 24) * GIB,
      simulated: true,
      healthy: d < models.length - broken,
      sharing: shape.sharing ?? 'none',
      parentId: null,
      heldBy: d < held ? 'krn_other' : null,
      shares: sharesOf(shape.shared?.[d] ?? 0),
    })),
    images: [],
    folders: [],
    drain: null,
    moveAt: null,
  };
}

const sharesOf = (gib: number) => (gib === 0 ? [] : [{ kernelId: 'krn_other', memoryBytes: Math.round(gib * GIB) }]);

/** A share of one device, beside 1 CPU and 1 GiB. */
export const share = (gib: number): Slots => ({ ...slots(1, 1), gpuMemoryBytes: Math.round(gib * GIB) });

export const slots = (cpu: number, gib: number, gpuCount = 0): Slots => ({
  cpuMilli: Math.round(cpu * 1000),
  memoryBytes: Math.round(gib * GIB),
  gpuCount,
  gpuMemoryBytes: 0,
});

const NO_WISHES: SnapshotPending['wishes'] = {
  nodes: [],
  nodesRequired: false,
  zone: null,
  zoneRequired: false,
  spread: 'none',
  replicaGroup: null,
};

export interface SessionShape extends Partial<Omit<SnapshotPending, 'id' | 'kernels'>> {
  readonly kernels?: readonly Slots[];
}

/** Session `n`, submitted in second `n`; a kernel of 1 CPU, 1 GiB unless said. */
export function session(n: number, { kernels = [slots(1, 1)], ...rest }: SessionShape = {}): SnapshotPending {
  return {
    id: sessionId(n),
    name: `s${n}`,
    version: 1,
    userId: 'usr_alice',
    projectId: 'prj_vision',
    domainId: 'dom_lab',
    priority: 10,
    submittedAt: new Date(Date.parse('2026-11-30T10:00:00.000Z') + n * 1000).toISOString(),
    architecture: null,
    gpuModel: null,
    clusterMode: 'single-node',
    kernels: kernels.map((each, k) => ({
      id: kernelId(n, k),
      role: k === 0 ? 'main' : 'worker',
      rank: k,
      slots: each,
    })),
    kind: 'batch',
    attempt: 0,
    minRuntimeSeconds: 0,
    maxRuntimeSeconds: null,
    gracePeriodSeconds: 10,
    preemptible: true,
    startsAt: null,
    retryAt: null,
    avoid: [],
    dependsOn: [],
    wishes: NO_WISHES,
    image: null,
    folders: [],
    budgetId: null,
    decay: { tries: 0, countedAt: null, blockedSince: null },
    ...rest,
  };
}

const NOTHING = { cpuMilli: 0, memoryBytes: 0, gpuCount: 0, gpuMemoryBytes: 0, sessions: 0 };

export const quota = (
  scope: SnapshotQuota['scope'],
  limits: SnapshotQuota['limits'],
  held: Partial<SnapshotQuota['held']> = {},
  id = { user: 'usr_alice', project: 'prj_vision', domain: 'dom_lab' }[scope],
): SnapshotQuota => ({ scope, id, name: id.slice(4), limits, held: { ...NOTHING, ...held } });

export interface SnapshotShape {
  readonly nodes: readonly SnapshotNode[];
  readonly pending: readonly SnapshotPending[];
  readonly quotas?: readonly SnapshotQuota[];
  readonly running?: readonly SnapshotRunning[];
  readonly holds?: readonly SnapshotHold[];
  readonly budgets?: Snapshot['budgets'];
  readonly policy?: Partial<Snapshot['group']['policy']>;
}

export const snapshot = ({
  nodes,
  pending,
  quotas = [],
  running = [],
  holds = [],
  budgets = null,
  policy = {},
}: SnapshotShape): Snapshot => ({
  schema: 'berth.snapshot/1',
  takenAt: NOW,
  group: {
    name: 'default',
    generation: 7,
    policy: {
      ...groupPolicySchema.parse({}),
      ...policy,
    },
  },
  budgets,
  nodes: [...nodes],
  quotas: [...quotas],
  guarantees: [],
  running: [...running],
  holds: [...holds],
  pending: [...pending],
});
