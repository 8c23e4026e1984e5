import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Snapshot, SnapshotPending } from '../../src/contract/snapshot.js';
import { node, session, slots } from './build.js';
import { PreemptionWorld } from './preemption-world.js';
import { preemptionPolicy } from './victims-case.js';

const RUNS = Number(process.env.BERTH_PROPERTY_RUNS ?? 30);
const STEPS = 50;

/** Choices that follow from the seed alone: a failure is told by its seed. */
function chooser(seed: number): <T>(choices: readonly T[]) => T {
  let state = seed;
  return (choices) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return choices[Math.floor((state / 2 ** 32) * choices.length)] as (typeof choices)[number];
  };
}
type Choose = ReturnType<typeof chooser>;

function arrival(n: number, choose: Choose): SnapshotPending {
  const gpus = choose([1, 1, 2, 4]);
  const isReplica = choose([true, false, false, false]);
  return session(n, {
    kind: isReplica ? 'inference' : 'batch',
    kernels: Array.from({ length: choose([1, 1, 1, 2]) }, () => slots(1, 1, gpus)),
    clusterMode: choose(['single-node', 'multi-node'] as const),
    priority: choose([0, 10, 20, 30, 40]),
    minRuntimeSeconds: choose([0, 0, 60, 600]),
    maxRuntimeSeconds: choose([null, 700, 3600]),
    gracePeriodSeconds: choose([0, 5, 60]),
    preemptible: !isReplica && choose([true, true, true, false]),
    projectId: choose(['prj_vision', 'prj_nlp']),
  });
}

interface Given {
  readonly seed: number;
  readonly backfill: Snapshot['group']['policy']['backfill'];
  readonly mode: 'requeue' | 'terminate';
  readonly order: 'newest' | 'oldest' | 'least-lost-work';
  readonly guaranteed: number;
  readonly reserved: number;
}

const given: fc.Arbitrary<Given> = fc.record({
  seed: fc.nat(),
  backfill: fc.constantFrom('none', 'easy', 'conservative'),
  mode: fc.constantFrom('requeue', 'terminate'),
  order: fc.constantFrom('newest', 'oldest', 'least-lost-work'),
  guaranteed: fc.constantFrom(0, 0, 2, 4, 8),
  reserved: fc.constantFrom(0, 0, 2, 4),
});

function worldAfter({ seed, backfill, mode, order, guaranteed, reserved }: Given): PreemptionWorld {
  const guarantees: Snapshot['guarantees'] = [
    { projectId: 'prj_nlp', project: 'nlp', gpuCount: guaranteed, returnSeconds: 120 },
    { projectId: '', project: '', kind: 'inference', gpuCount: reserved, returnSeconds: 30 },
  ];
  const world = new PreemptionWorld(
    ['a', 'b', 'c'].map((name) => node(name, { gpus: 4, cpu: 8 })),
    { backfill, preemption: preemptionPolicy({ mode, order }) },
    guarantees.filter(({ gpuCount }) => gpuCount > 0),
  );
  const choose = chooser(seed);
  for (let n = 0; n < STEPS; n += 1) {
    const step = choose(['arrive', 'arrive', 'arrive', 'end', 'wait'] as const);
    if (step === 'arrive') world.arrive(arrival(n, choose));
    if (step === 'end') world.end(choose([0, 1, 2, 3, 5, 8, 13]));
    world.pass(choose([1, 5, 30, 300]));
  }
  return world;
}

test('nobody protected is stopped, held room is nobody else’s, what is guaranteed is never taken by what cannot be gone in time, and every stop has a point', () => {
  let stops = 0;
  fc.assert(
    fc.property(given, (each) => {
      const world = worldAfter(each);
      world.checkStopsHadAPoint();
      stops += world.stops.length;
    }),
    { numRuns: RUNS },
  );
  expect(stops).toBeGreaterThan(RUNS);
});

test('a queue that nobody joins any more comes to rest: nobody is stopped for ever', () => {
  fc.assert(
    fc.property(given, (each) => {
      const world = worldAfter(each);
      for (let n = 0; n < 40; n += 1) world.pass(700);
      const before = world.stops.length;
      for (let n = 0; n < 10; n += 1) world.pass(700);
      expect(world.stops.length).toBe(before);
    }),
    { numRuns: RUNS / 2 },
  );
});
