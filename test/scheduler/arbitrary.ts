import fc from 'fast-check';
import type { Snapshot, SnapshotNode, SnapshotPending, SnapshotQuota } from '../../src/contract/snapshot.js';
import { node, quota, session, slots, snapshot } from './build.js';

const MODELS = ['t4', 'h200'];

export const anyNode = (index: number): fc.Arbitrary<SnapshotNode> =>
  fc
    .record({
      cpu: fc.integer({ min: 1, max: 8 }),
      used: fc.integer({ min: 0, max: 4 }),
      gib: fc.integer({ min: 4, max: 16 }),
      models: fc.array(fc.constantFrom(...MODELS), { maxLength: 4 }),
      held: fc.integer({ min: 0, max: 2 }),
      broken: fc.integer({ min: 0, max: 1 }),
      state: fc.constantFrom('READY', 'READY', 'READY', 'READY', 'CORDONED', 'LOST', 'REGISTERED'),
      zone: fc.constantFrom(null, 'z1', 'z2'),
      architecture: fc.constantFrom('amd64', 'amd64', 'amd64', 'arm64'),
    })
    .map(({ used, ...shape }) => node(`n${index}`, { ...shape, usedCpu: Math.min(used, shape.cpu) }));

export const anyNodes = fc
  .integer({ min: 0, max: 5 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, i) => anyNode(i))));

const USERS = ['usr_alice', 'usr_bob'];
const PROJECTS = ['prj_vision', 'prj_speech'];

export const anySlots = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 }), fc.constantFrom(0, 0, 1, 1, 2, 3))
  .map(([cpu, gib, gpus]) => slots(cpu / 2, gib, gpus));

export const anySession = (
  n: number,
  clusterModes: readonly SnapshotPending['clusterMode'][],
): fc.Arbitrary<SnapshotPending> =>
  fc
    .record({
      kernels: fc.array(anySlots, { minLength: 1, maxLength: 3 }),
      clusterMode: fc.constantFrom(...clusterModes),
      priority: fc.constantFrom(0, 10, 10, 10, 20),
      userId: fc.constantFrom(...USERS),
      projectId: fc.constantFrom(...PROJECTS),
      gpuModel: fc.constantFrom(null, null, null, 't4', 'h200'),
      architecture: fc.constantFrom(null, null, null, 'amd64', 'arm64'),
    })
    .map((shape) => session(n, shape));

const limit = (max: number) => fc.option(fc.integer({ min: 0, max }), { nil: undefined });

export const anyQuotas: fc.Arbitrary<SnapshotQuota[]> = fc
  .array(
    fc.record({
      owner: fc.constantFrom(
        ['user', 'usr_alice'] as const,
        ['user', 'usr_bob'] as const,
        ['project', 'prj_vision'] as const,
        ['project', 'prj_speech'] as const,
        ['domain', 'dom_lab'] as const,
      ),
      gpuCount: limit(6),
      cpu: limit(12),
      sessions: limit(5),
    }),
    { maxLength: 4 },
  )
  .map((rows) => {
    const unique = new Map(rows.map((row) => [row.owner.join(), row]));
    return [...unique.values()].map(({ owner: [scope, id], gpuCount, cpu, sessions }) =>
      quota(
        scope,
        {
          ...(gpuCount !== undefined && { gpuCount }),
          ...(cpu !== undefined && { cpuMilli: cpu * 1000 }),
          ...(sessions !== undefined && { sessions }),
        },
        {},
        id,
      ),
    );
  });

export const anyPolicy = fc.record({
  placement: fc.constantFrom('dispersed' as const, 'concentrated' as const),
  paused: fc.constantFrom(false, false, false, false, false, true),
  slotOrder: fc.constantFrom<Snapshot['group']['policy']['slotOrder']>(
    ['gpuCount', 'gpuMemoryBytes', 'cpuMilli', 'memoryBytes'],
    ['cpuMilli', 'memoryBytes'],
    ['memoryBytes'],
  ),
});

export const anySnapshot = (clusterModes: readonly SnapshotPending['clusterMode'][]): fc.Arbitrary<Snapshot> =>
  fc
    .record({
      nodes: anyNodes,
      pending: fc
        .integer({ min: 0, max: 9 })
        .chain((count) => fc.tuple(...Array.from({ length: count }, (_, n) => anySession(n, clusterModes)))),
      quotas: anyQuotas,
      policy: anyPolicy,
    })
    .map((shape) => snapshot(shape));
