import { describe, expect, test } from 'vitest';
import type { Snapshot, SnapshotNode, SnapshotRunning } from '../../src/contract/snapshot.js';
import { guaranteeBook, noteDropped, notePromised } from '../../src/scheduler/guarantee-book.js';
import { guaranteeRefusal } from '../../src/scheduler/guarantee-refusal.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { NOW, node, type SessionShape, session, sessionId, slots, snapshot } from './build.js';
import { at, booked, type RunningShape, running } from './build-running.js';
import { names, preemptionPolicy, victimsFor } from './victims-case.js';

type Guarantee = Snapshot['guarantees'][number];
const guaranteed = (project: string, gpuCount: number, returnSeconds = 300): Guarantee => ({
  projectId: `prj_${project}`,
  project,
  gpuCount,
  returnSeconds,
});

const eight = (): SnapshotNode => node('node-a', { gpus: 8, cpu: 64 });
const deviceIds = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, d) => `node-a-${from + d}`);
const on = (n: number, [from, count]: readonly [number, number], rest: RunningShape = {}): SnapshotRunning =>
  running(n, { rooms: [{ node: 'node-a', devices: deviceIds(from, count) }], ...rest });
const asks = (gpus: number, rest: SessionShape = {}) => session(100, { kernels: [slots(1, 1, gpus)], ...rest });

interface World {
  readonly sessions?: readonly SnapshotRunning[];
  readonly nodes?: readonly SnapshotNode[];
  readonly holds?: Snapshot['holds'];
  readonly preemption?: Parameters<typeof preemptionPolicy>[0];
}
const world = (
  guarantees: readonly Guarantee[],
  { sessions = [], nodes = [eight()], holds = [], preemption = { enabled: false } }: World = {},
): Snapshot => ({
  ...snapshot({
    nodes: booked(nodes, sessions),
    pending: [],
    running: sessions,
    holds,
    policy: { preemption: preemptionPolicy(preemption) },
  }),
  guarantees: [...guarantees],
});
const refusal = (snap: Snapshot, asker: ReturnType<typeof asks>) => {
  const book = guaranteeBook(snap, Date.parse(NOW));
  return book === null ? null : guaranteeRefusal(book, asker);
};

const heldFor = (waiter: ReturnType<typeof session>, gpus: number): Snapshot['holds'][number] => ({
  sessionId: waiter.id,
  since: NOW,
  victims: [],
  kernels: on(7, [0, gpus]).kernels,
  waiter,
});

const FIRM = { minRuntimeSeconds: 3600 };
/** Within its minimum runtime for another hour. */
const FIRM_RUNNING: RunningShape = { minRuntimeSeconds: 7200 };
const nlp = { projectId: 'prj_nlp' };

describe('lent room', () => {
  const cases: [title: string, ask: [number, SessionShape], given: World, isRefused: boolean][] = [
    ['goes to work that can be gone in time', [8, {}], {}, false],
    ['goes to work whose minimum runtime and grace end just in time', [8, { minRuntimeSeconds: 290 }], {}, false],
    ['does not go to work whose minimum runtime and grace take longer', [8, { minRuntimeSeconds: 291 }], {}, true],
    ['does not go to work that may not be stopped', [5, { preemptible: false }], {}, true],
    ['is not touched by firm work on what nobody is guaranteed', [4, FIRM], {}, false],
    [
      'leaves firm work of others out of what is guaranteed',
      [3, FIRM],
      { sessions: [on(1, [0, 2], FIRM_RUNNING)] },
      true,
    ],
    ['does not count what is past its minimum runtime', [3, FIRM], { sessions: [on(1, [0, 2])] }, false],
    [
      'does not keep its own project from its guarantee',
      [4, { ...nlp, ...FIRM }],
      { sessions: [on(1, [0, 4], FIRM_RUNNING)] },
      false,
    ],
    [
      'keeps its own project from firm work beyond its guarantee',
      [5, { ...nlp, ...FIRM }],
      { sessions: [on(1, [0, 4], FIRM_RUNNING)] },
      true,
    ],
    [
      'counts firm work of the project itself as its guarantee',
      [4, FIRM],
      { sessions: [on(1, [0, 4], { ...FIRM_RUNNING, ...nlp })] },
      false,
    ],
    ['asks nothing of a session without devices', [0, { preemptible: false }], {}, false],
    ['is short when devices are broken', [2, FIRM], { nodes: [node('node-a', { gpus: 8, broken: 3 })] }, true],
    [
      'is short when nodes are closed',
      [1, FIRM],
      { nodes: [node('node-a', { gpus: 4 }), node('node-b', { gpus: 4, state: 'CORDONED' })] },
      true,
    ],
    [
      'counts held room as firm',
      [1, FIRM],
      { holds: [{ sessionId: sessionId(7), since: NOW, victims: [], kernels: on(7, [0, 4]).kernels }] },
      true,
    ],
    [
      'counts held room against the guarantee of its waiter, who is reached later',
      [2, { ...nlp, ...FIRM }],
      { sessions: [on(1, [4, 4], FIRM_RUNNING)], holds: [heldFor(session(7, { ...nlp, ...FIRM }), 3)] },
      true,
    ],
    [
      'counts held room of one that leaves in time as lent',
      [4, FIRM],
      { holds: [heldFor(session(7, { projectId: 'prj_speech' }), 4)] },
      false,
    ],
  ];
  for (const [title, [gpus, shape], given, isRefused] of cases) {
    test(title, () => {
      const told = refusal(world([guaranteed('nlp', 4)], given), asks(gpus, shape));
      expect(told?.reason ?? null).toBe(isRefused ? 'guaranteed_share' : null);
    });
  }

  test('is told with the numbers', () => {
    const told = refusal(world([guaranteed('nlp', 4)], { sessions: [on(1, [0, 2], FIRM_RUNNING)] }), asks(3, FIRM));
    expect(told?.message).toBe(
      'it may stay for 3610 s (minimum runtime and grace), and GPU are guaranteed: 4 to nlp, within 300 s; ' +
        'guaranteed or held as firmly 6 + 3 (of its 3) > 8 GPU of the group, over by 1',
    );
    expect(told?.blockers[0]).toMatchObject({
      kind: 'quota',
      scope: 'project',
      name: 'nlp',
      need: 3,
      used: 6,
      limit: 8,
    });
  });

  test('is counted for each time of return: work that is quick enough for one guarantee may be too slow for another', () => {
    const snap = world([guaranteed('nlp', 4, 60), guaranteed('speech', 3, 3600)]);
    expect(refusal(snap, asks(5, { minRuntimeSeconds: 600 }))?.message).toContain('4 to nlp');
    expect(refusal(snap, asks(4, { minRuntimeSeconds: 600 }))).toBeNull();
    expect(refusal(snap, asks(2, { minRuntimeSeconds: 7200 }))?.message).toContain('4 to nlp and 3 to speech');
  });

  test('counts what this pass has placed, once, until it is given up', () => {
    const book = guaranteeBook(world([guaranteed('nlp', 4)]), Date.parse(NOW));
    if (book === null) throw new Error('something is guaranteed');
    const first = session(1, { kernels: [slots(1, 1, 4)], ...FIRM });
    notePromised(book, first);
    notePromised(book, first);
    expect(guaranteeRefusal(book, first)).toBeNull();
    expect(guaranteeRefusal(book, asks(1, FIRM))?.reason).toBe('guaranteed_share');
    noteDropped(book, first.id);
    expect(guaranteeRefusal(book, asks(4, FIRM))).toBeNull();
  });

  test('counts a share as a device, but on hardware instances', () => {
    const share = { ...slots(1, 1), gpuMemoryBytes: 2 ** 30 };
    const asker = session(100, { kernels: [share], preemptible: false });
    const split = (sharing: 'mps' | 'mig', of: SnapshotNode): SnapshotNode => ({
      ...of,
      devices: of.devices.map((device, d) => (d < 4 ? device : { ...device, sharing })),
    });
    expect(refusal(world([guaranteed('nlp', 8)], { nodes: [split('mps', eight())] }), asker)?.reason).toBe(
      'guaranteed_share',
    );
    expect(refusal(world([guaranteed('nlp', 4)], { nodes: [split('mig', eight())] }), asker)).toBeNull();
  });
});

describe('a guaranteed project takes back what it lent', () => {
  const lent = [on(1, [0, 4], { priority: 90, startedAt: at(-10) }), on(2, [4, 4], { priority: 80 })];
  const mine = (gpus: number, rest: SessionShape = {}) =>
    asks(gpus, { ...nlp, priority: 0, userId: 'usr_bob', ...rest });

  test('from work of any priority and owner, though nobody else stops anybody', () => {
    const snap = world([guaranteed('nlp', 4)], { sessions: lent });
    const answer = victimsFor(snap, mine(4));
    expect(names(answer, snap)).toEqual(['r2']);
    expect('stops' in answer && answer.stops[0]?.message).toContain(
      'it runs on what is lent of the 4 GPU guaranteed to nlp',
    );
  });

  test('but not more than it is guaranteed', () => {
    const held = on(3, [0, 2], { ...nlp, priority: 0 });
    const snap = world([guaranteed('nlp', 4)], { sessions: [held, on(2, [2, 6])] });
    expect(names(victimsFor(snap, mine(2)), snap)).toEqual(['r2']);
    expect(names(victimsFor(snap, mine(3)), snap)).toEqual([]);
  });

  test('not from work that may not be stopped, nor within its minimum runtime; the time of return is told', () => {
    const snap = world([guaranteed('nlp', 4)], {
      sessions: [
        on(1, [0, 4], { preemptible: false }),
        on(2, [4, 4], { minRuntimeSeconds: 3720, gracePeriodSeconds: 60 }),
      ],
    });
    expect(victimsFor(snap, mine(4))).toMatchObject({ earliest: at(2), expectedStart: { at: at(3) } });
  });

  test('nobody takes from a project within its own guarantee, whatever the priorities', () => {
    const sheltered = on(1, [0, 4], { projectId: 'prj_speech', priority: 0 });
    const snap = world([guaranteed('nlp', 4), guaranteed('speech', 4)], {
      sessions: [sheltered, on(2, [4, 4], { preemptible: false })],
      preemption: { enabled: true },
    });
    expect(victimsFor(snap, mine(4, { priority: 99 }))).toMatchObject({
      none: expect.stringContaining('1 are within what their projects are guaranteed') as string,
    });
  });

  test('what a project has beyond its own guarantee is lent too', () => {
    const speech = { projectId: 'prj_speech', priority: 50 };
    const snap = world([guaranteed('nlp', 4), guaranteed('speech', 2)], {
      sessions: [0, 2, 4, 6].map((from, n) => on(n + 1, [from, 2], { ...speech, startedAt: at(-10 - n) })),
    });
    expect(names(victimsFor(snap, mine(4)), snap)).toEqual(['r1', 'r2']);
    expect(names(victimsFor(snap, asks(2, { projectId: 'prj_x', priority: 99 })), snap)).toEqual([]);
  });

  test('one that straddles the limit goes whole, but for a priority not beside one that could take its GPUs back', () => {
    const speech = { projectId: 'prj_speech', priority: 0 };
    const snap = (...sizes: number[]) => {
      const from = (n: number) => sizes.slice(0, n).reduce((sum, size) => sum + size, 0);
      return world([guaranteed('speech', 4)], {
        sessions: sizes.map((size, n) => on(n + 1, [from(n), size], { ...speech, startedAt: at(-10 - n) })),
        preemption: { enabled: true },
      });
    };
    const urgent = (gpus: number) => asks(gpus, { projectId: 'prj_x', priority: 99 });
    expect(names(victimsFor(snap(8), urgent(4)), snap(8))).toEqual(['r1']);
    expect(names(victimsFor(snap(1, 2, 3, 2), urgent(3)), snap(1, 2, 3, 2))).toEqual(['r1', 'r2']);
    expect(names(victimsFor(snap(1, 4, 3), urgent(5)), snap(1, 4, 3))).toEqual([]);
  });

  test('whichever of its sessions serves, when the first to be offered does not', () => {
    const speech = { projectId: 'prj_speech' };
    const rooms = (name: string, model: string) => ({ ...node(name, { gpus: 2, model }) });
    const sessions = [
      running(1, { ...speech, startedAt: at(-1), rooms: [{ node: 'node-a', devices: ['node-a-0', 'node-a-1'] }] }),
      running(2, { ...speech, startedAt: at(-9), rooms: [{ node: 'node-b', devices: ['node-b-0', 'node-b-1'] }] }),
    ];
    const snap = world([guaranteed('nlp', 2), guaranteed('speech', 2)], {
      nodes: [rooms('node-a', 't4'), rooms('node-b', 'h200')],
      sessions,
    });
    expect(names(victimsFor(snap, mine(2, { gpuModel: 'h200' })), snap)).toEqual(['r2']);
  });

  test('of its own project it stops nobody but by the policy', () => {
    const snap = world([guaranteed('nlp', 8)], { sessions: [on(1, [0, 8], { ...nlp, priority: 0 })] });
    expect(names(victimsFor(snap, mine(8, { priority: 50 })), snap)).toEqual([]);
  });
});

describe('a project behind somebody who blocks the queue', () => {
  const blocker = session(1, { kernels: [slots(1, 1, 8)], projectId: 'prj_other' });
  const two = [node('node-a', { gpus: 8, cpu: 64 }), node('node-b', { gpus: 1, cpu: 64, held: 1 })];
  const plan = (sessions: readonly SnapshotRunning[], asker: ReturnType<typeof asks>) =>
    planPass({ ...world([guaranteed('nlp', 2)], { sessions, nodes: two }), pending: [blocker, asker] }, NOW);

  test('takes free GPUs that it is guaranteed', () => {
    const taken = plan([on(50, [0, 4])], asks(2, nlp));
    expect(taken.blockedBy).toBe(blocker.id);
    expect(taken.placed.map(({ sessionId: id }) => id)).toEqual([sessionId(100)]);
  });
  test('takes back what it lent, and no more than it is guaranteed', () => {
    expect(plan([on(50, [0, 8])], asks(2, nlp)).stops).toHaveLength(1);
    expect(plan([on(50, [0, 8])], asks(3, nlp)).stops).toEqual([]);
  });
  test('and one without a guarantee waits behind it', () => {
    expect(plan([on(50, [0, 4])], asks(2)).placed).toEqual([]);
  });
});

describe('a pass', () => {
  const planned = (snap: Snapshot, pending: Snapshot['pending']) => planPass({ ...snap, pending }, NOW);

  test('lends nothing to firm work, says so, and goes on with those behind it', () => {
    const behind = session(101, { kernels: [slots(1, 1, 4)] });
    const plan = planned(world([guaranteed('nlp', 4)]), [asks(5, FIRM), behind]);
    expect(plan.waiting).toMatchObject([{ sessionId: sessionId(100), reason: 'guaranteed_share' }]);
    expect(plan.placed.map(({ sessionId: id }) => id)).toEqual([behind.id]);
  });

  test('promises what is guaranteed once: who holds its room already counts against it', () => {
    const lent = [on(1, [0, 2], { goneBy: at(1) }), on(2, [2, 6])];
    const holder = session(99, { ...nlp, kernels: [slots(1, 1, 2)] });
    const hold = { sessionId: holder.id, since: NOW, victims: [sessionId(1)], kernels: on(1, [0, 2]).kernels };
    const snap = world([guaranteed('nlp', 2)], { sessions: lent, holds: [hold] });
    const plan = planned(snap, [holder, asks(1, nlp)]);
    expect(plan.stops).toEqual([]);
    expect(plan.waiting.map(({ reason }) => reason)).toEqual(['waiting_for_victims', 'insufficient_capacity']);
  });
});

describe('what is guaranteed to deployments', () => {
  const replicas = (gpuCount: number, projectId = ''): Guarantee => ({
    ...{ projectId, project: projectId, gpuCount, returnSeconds: 60 },
    kind: 'inference',
  });
  const replica = (gpus: number, rest: SessionShape = {}) =>
    asks(gpus, { kind: 'inference', preemptible: false, ...rest });
  const training = (n: number, devices: readonly [number, number]) => on(n, devices, { priority: 90 });

  const cases: [title: string, ask: ReturnType<typeof asks>, guarantees: readonly Guarantee[], isRefused: boolean][] = [
    ['is lent to a training job that can be gone in time', asks(8), [replicas(2)], false],
    ['is not lent to work that cannot', asks(7, FIRM), [replicas(2)], true],
    ['is no room for a notebook that may not be stopped', asks(7, { preemptible: false }), [replicas(2)], true],
    ['is there for a replica of whatever project', replica(2), [replicas(2), guaranteed('nlp', 6)], false],
    ['is not there for more replicas than it holds', replica(3), [replicas(2), guaranteed('nlp', 6)], true],
    ['of one project is not there for replicas of another', replica(1), [replicas(8, 'prj_nlp')], true],
    ['of one project counts before that of all', replica(6, nlp), [replicas(2), replicas(6, 'prj_nlp')], false],
  ];
  test.each(cases)('%s', (_title, asker, guarantees, isRefused) => {
    expect(refusal(world(guarantees), asker)?.reason ?? null).toBe(isRefused ? 'guaranteed_share' : null);
  });

  test('is told by its name, and is no project in the blockers', () => {
    const told = refusal(world([replicas(2)]), asks(7, FIRM));
    expect(told?.message).toContain('GPU are guaranteed: 2 to deployments, within 60 s');
    expect(told?.blockers).toMatchObject([{ scope: 'group', name: 'deployments' }]);
    const ofOne = refusal(world([{ ...replicas(2, 'prj_nlp'), project: 'lab/nlp' }]), asks(7, FIRM));
    expect(ofOne?.message).toContain('2 to deployments of lab/nlp');
  });

  test('is taken back for a replica from a training job of any priority, of its own project too', () => {
    const snap = world([replicas(2)], { sessions: [training(1, [0, 4]), training(2, [4, 4])] });
    const answer = victimsFor(snap, replica(1, { priority: 0 }));
    expect(names(answer, snap)).toHaveLength(1);
    expect('stops' in answer && answer.stops[0]?.message).toContain('lent of the 2 GPU guaranteed to deployments');
  });

  test('is not taken back for anything else, nor beyond it', () => {
    const serving = on(3, [0, 2], { kind: 'inference', preemptible: false });
    const snap = world([replicas(2)], { sessions: [serving, training(1, [2, 6])] });
    expect(names(victimsFor(snap, replica(1)), snap)).toEqual([]);
    expect(names(victimsFor(world([replicas(2)], { sessions: [training(1, [0, 8])] }), asks(1)), snap)).toEqual([]);
  });

  test('shelters preemptible replicas within it from everybody', () => {
    const serving = on(3, [0, 2], { kind: 'inference', priority: 0 });
    const snap = world([replicas(2)], { sessions: [serving], preemption: { enabled: true } });
    expect(names(victimsFor(snap, asks(8, { priority: 99 })), snap)).toEqual([]);
  });
});
