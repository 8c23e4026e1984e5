import { groupPolicySchema, PLACEMENTS, SNAPSHOT_SCHEMA, type Snapshot, snapshotSchema } from '../../contract/index.js';
import { planPass } from '../../scheduler/plan-pass.js';

const GIB = 2 ** 30;
const NOW = '2026-01-01T00:00:00.000Z';
const AMOUNT = {
  cpu: (cores: number) => ({ cpuMilli: cores * 1000 }),
  gpu: (gpuCount: number) => ({ cpuMilli: 100, gpuCount }),
};

type Node = { readonly name: string; readonly cpus: number; readonly usedCpus: number; readonly gpus: number };
interface Case {
  readonly title: string;
  readonly nodes: readonly Node[];
  readonly asks: readonly (readonly [
    label: string,
    slots: { readonly cpuMilli: number; readonly gpuCount?: number },
  ])[];
}

const TWO = ['a', 'b'].map((name) => ({ name, cpus: 64, usedCpus: 0, gpus: 4 }));
const gpus = (...counts: readonly number[]): Case['asks'] => counts.map((count) => [`${count} GPU`, AMOUNT.gpu(count)]);
const CASES: readonly Case[] = [
  {
    title: 'a. small has 4 CPU, all free; large has 64, 32 of them free',
    nodes: [
      { name: 'large', cpus: 64, usedCpus: 32, gpus: 0 },
      { name: 'small', cpus: 4, usedCpus: 0, gpus: 0 },
    ],
    asks: [['1 CPU', AMOUNT.cpu(1)]],
  },
  { title: 'b. two nodes with 4 GPUs, asked for 1, 3, 4', nodes: TWO, asks: gpus(1, 3, 4) },
  { title: 'c. the same, asked for 4, 1, 3', nodes: TWO, asks: gpus(4, 1, 3) },
];

/** The three cases under every policy, as the planner decides them: no server is asked. */
export const placementTable = (): readonly string[] =>
  CASES.flatMap((one) => [
    one.title,
    ...PLACEMENTS.map((placement) => `  ${placement.padEnd(17)} ${decisions(one, placement).join(', ')}`),
  ]);

function decisions(one: Case, placement: (typeof PLACEMENTS)[number]): readonly string[] {
  const snapshot = snapshotOf(one, placement);
  const plan = planPass(snapshot, NOW);
  return snapshot.pending.map(({ id, name }) => {
    const node = plan.placed.find(({ sessionId }) => sessionId === id)?.kernels[0]?.node;
    const reason = plan.waiting.find(({ sessionId }) => sessionId === id)?.reason;
    return node === undefined ? `${name} waits (${reason ?? 'behind'})` : `${name} → ${node}`;
  });
}

function snapshotOf({ nodes, asks }: Case, placement: (typeof PLACEMENTS)[number]): Snapshot {
  const policy = groupPolicySchema.parse({ placement });
  return snapshotSchema.parse({
    schema: SNAPSHOT_SCHEMA,
    takenAt: NOW,
    group: { name: 'demo', generation: 1, policy },
    nodes: nodes.map(({ name, cpus, usedCpus, gpus: count }) => ({
      name,
      architecture: 'amd64',
      zone: null,
      state: 'READY',
      capacity: { cpuMilli: cpus * 1000, memoryBytes: 256 * GIB },
      used: { cpuMilli: usedCpus * 1000, memoryBytes: 0 },
      devices: Array.from({ length: count }, (_, index) => ({
        id: `${name}-${index}`,
        model: 'simulated',
        memoryBytes: 24 * GIB,
        simulated: true,
        healthy: true,
        heldBy: null,
      })),
    })),
    quotas: [],
    pending: asks.map(([label, slots], index) => ({
      id: `ses_${String(index).padStart(26, '0')}`,
      name: label,
      version: 1,
      userId: 'usr_1',
      projectId: 'prj_1',
      domainId: 'dom_1',
      priority: 10,
      submittedAt: NOW,
      architecture: null,
      gpuModel: null,
      clusterMode: 'single-node',
      kernels: [
        { id: `krn_${String(index).padStart(26, '0')}`, role: 'main', rank: 0, slots: { memoryBytes: GIB, ...slots } },
      ],
    })),
  });
}
