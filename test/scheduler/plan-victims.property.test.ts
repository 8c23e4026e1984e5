import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Slots } from '../../src/contract/slots.js';
import type { Snapshot, SnapshotNode, SnapshotPending, SnapshotRunning } from '../../src/contract/snapshot.js';
import { demandOf } from '../../src/scheduler/demand.js';
import { nodeTable } from '../../src/scheduler/node-table.js';
import { place } from '../../src/scheduler/place.js';
import { rankingOf } from '../../src/scheduler/ranking.js';
import { placedKernelsOf } from '../../src/scheduler/rooms.js';
import { GIB, NOW, node, session, slots, snapshot } from './build.js';
import { at, booked, running } from './build-running.js';
import { fitsWithout, preemptionPolicy, victimsFor } from './victims-case.js';

const RUNS = Number(process.env.BERTH_PROPERTY_RUNS ?? 400);

const share = (cpu: number, gib: number): Slots => ({ ...slots(cpu, 1), gpuMemoryBytes: gib * GIB });
const anySlots = fc.oneof(
  fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 0, max: 3 })).map(([cpu, gpus]) => slots(cpu, 1, gpus)),
  fc.tuple(fc.integer({ min: 1, max: 2 }), fc.constantFrom(8, 12, 24)).map(([cpu, gib]) => share(cpu, gib)),
);

const anyNode = (index: number): fc.Arbitrary<SnapshotNode> =>
  fc
    .record({
      cpu: fc.integer({ min: 2, max: 8 }),
      gpus: fc.integer({ min: 0, max: 4 }),
      sharing: fc.constantFrom('mps', 'none', 'mig'),
      state: fc.constantFrom('READY', 'READY', 'READY', 'CORDONED'),
    })
    .map(({ sharing, ...shape }) => {
      const made = node(`n${index}`, shape);
      return { ...made, devices: made.devices.map((device) => ({ ...device, sharing })) };
    });

const anyAsk = fc.record({
  kernels: fc.array(anySlots, { minLength: 1, maxLength: 3 }),
  clusterMode: fc.constantFrom<SnapshotPending['clusterMode'][]>('single-node', 'multi-node'),
  userId: fc.constantFrom('usr_alice', 'usr_bob'),
});

const anyRunner = fc.record({
  ask: anyAsk,
  priority: fc.constantFrom(0, 10, 20),
  preemptible: fc.constantFrom(true, true, true, false),
  minRuntimeSeconds: fc.constantFrom(0, 0, 1800, 7200),
  ago: fc.option(fc.integer({ min: 1, max: 100 }), { nil: null, freq: 8 }),
  goneIn: fc
    .option(fc.integer({ min: 1, max: 5 }), { nil: null, freq: 2 })
    .map((minutes) => (minutes === 1 ? 1 : null)),
});

type Runner = typeof anyRunner extends fc.Arbitrary<infer Value> ? Value : never;

/** Those that fit, in the order in which they come, on the nodes that they were placed on. */
function settle(nodes: readonly SnapshotNode[], runners: readonly Runner[], policy: Snapshot['group']['policy']) {
  const ranking = rankingOf(nodeTable(nodes, 'now', policy), policy);
  const settled: SnapshotRunning[] = [];
  for (const [n, { ask, ago, goneIn, ...rest }] of runners.entries()) {
    const wish = session(n, ask);
    const attempt = place(ranking, demandOf(wish));
    if (typeof attempt === 'string') continue;
    const wanted = wish.kernels.map(({ id, slots: each }) => ({ kernelId: id, slots: each }));
    const kernels = placedKernelsOf(ranking.table, wanted, attempt);
    const startedAt = ago === null ? null : at(-ago);
    settled.push({
      ...running(n, { ...rest, startedAt, userId: ask.userId, goneBy: goneIn === null ? null : at(goneIn) }),
      kernels,
    });
  }
  return settled;
}

const anyWorld = fc
  .record({
    nodes: fc
      .integer({ min: 1, max: 3 })
      .chain((count) => fc.tuple(...Array.from({ length: count }, (_, i) => anyNode(i)))),
    runners: fc.array(anyRunner, { maxLength: 8 }),
    ask: anyAsk,
    priority: fc.constantFrom(5, 15, 30),
    order: fc.constantFrom('newest' as const, 'oldest' as const, 'least-lost-work' as const),
    scope: fc.constantFrom('user' as const, 'group' as const, 'group' as const),
  })
  .map(({ nodes, runners, ask, priority, order, scope }) => {
    const policy = { preemption: preemptionPolicy({ order, scope }), allowUnenforcedSharing: true };
    const sessions = settle(nodes, runners, snapshot({ nodes, pending: [], policy }).group.policy);
    const world = snapshot({ nodes: booked(nodes, sessions), pending: [], running: sessions, policy });
    return { world, asker: session(900, { ...ask, priority }) };
  });

/** Said anew, without the code under test. */
function mayStop(world: Snapshot, asker: SnapshotPending, victim: SnapshotRunning): boolean {
  const { preemptible, priority, startedAt, minRuntimeSeconds, goneBy, userId } = victim;
  const { scope } = world.group.policy.preemption;
  if (!preemptible || goneBy !== null || startedAt === null || priority >= asker.priority) return false;
  if (scope === 'user' && userId !== asker.userId) return false;
  return Date.parse(startedAt) + minRuntimeSeconds * 1000 <= Date.parse(NOW);
}

const subsets = <T>(all: readonly T[]): T[][] =>
  all.reduce<T[][]>((sets, each) => [...sets, ...sets.map((set) => [...set, each])], [[]]);

test('victims are stoppable, suffice, and no smaller set among them does; nobody is stopped in vain', () => {
  let stopped = 0;
  fc.assert(
    fc.property(anyWorld, ({ world, asker }) => {
      const answer = victimsFor(world, asker);
      const leaving = world.running.filter(({ goneBy }) => goneBy !== null);
      const stoppable = world.running.filter((victim) => mayStop(world, asker, victim));
      if ('none' in answer) {
        const fitsAnyhow = fitsWithout(world, asker, []);
        if (!fitsAnyhow) expect(fitsWithout(world, asker, [...leaving, ...stoppable])).toBe(false);
        return;
      }
      const victims = answer.stops.map(({ sessionId }) => stoppable.find(({ id }) => id === sessionId));
      expect(victims).not.toContain(undefined);
      const set = victims as SnapshotRunning[];
      stopped += set.length;
      expect(fitsWithout(world, asker, [...leaving, ...set])).toBe(true);
      for (const fewer of subsets(set).filter(({ length }) => length < set.length))
        expect(fitsWithout(world, asker, [...leaving, ...fewer])).toBe(false);
    }),
    { numRuns: RUNS },
  );
  expect(stopped).toBeGreaterThan(0);
});

test('the held room is what those leave, device by device, and what was free', () => {
  fc.assert(
    fc.property(anyWorld, ({ world, asker }) => {
      const answer = victimsFor(world, asker);
      if ('none' in answer) return;
      const gone = new Set<string>(answer.hold.victims);
      const stay = world.running.filter(({ id }) => !gone.has(id));
      const kept = { ...running(900), kernels: answer.hold.kernels };
      const bare = world.nodes.map((each) => ({
        ...each,
        used: { cpuMilli: 0, memoryBytes: 0 },
        devices: each.devices.map((device) => ({ ...device, heldBy: null, shares: [] })),
      }));
      for (const each of booked(bare, [...stay, kept])) {
        expect(each.used.cpuMilli).toBeLessThanOrEqual(each.capacity.cpuMilli);
        for (const { shares, heldBy, memoryBytes, sharing } of each.devices) {
          const bytes = shares.reduce((sum, one) => sum + one.memoryBytes, heldBy === null ? 0 : memoryBytes);
          expect(bytes).toBeLessThanOrEqual(memoryBytes);
          if (sharing === 'mig') expect(shares.length).toBeLessThanOrEqual(1);
        }
      }
    }),
    { numRuns: RUNS },
  );
});

test('the answer is the same whatever the order of nodes and sessions', () => {
  fc.assert(
    fc.property(anyWorld, ({ world, asker }) => {
      const turned = { ...world, nodes: world.nodes.toReversed(), running: world.running.toReversed() };
      expect(victimsFor(turned, asker)).toEqual(victimsFor(world, asker));
    }),
    { numRuns: RUNS / 4 },
  );
});
