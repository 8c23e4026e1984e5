import { describe, expect, test } from 'vitest';
import type { Snapshot, SnapshotNode, SnapshotRunning } from '../../src/contract/snapshot.js';
import { planVictims } from '../../src/scheduler/plan-victims.js';
import { preemptionOf } from '../../src/scheduler/preemption.js';
import type { VictimRule } from '../../src/scheduler/victims.js';
import { GIB, NOW, node, type SessionShape, session, sessionId, slots, snapshot } from './build.js';
import { at, booked, type RunningShape, running } from './build-running.js';
import { ask, names, passOf, preemptionPolicy, victimsFor } from './victims-case.js';

const four = (name: string): SnapshotNode => node(name, { gpus: 4 });
/** Has the first devices of `node-a` after `from`. */
const onA = (n: number, from: number, count: number, rest: RunningShape = {}): SnapshotRunning =>
  running(n, { rooms: [{ node: 'node-a', devices: deviceIds('node-a', from, count) }], ...rest });
const deviceIds = (name: string, from: number, count: number): string[] =>
  Array.from({ length: count }, (_, d) => `${name}-${from + d}`);
const wants = (gpus: number, rest: SessionShape = {}) =>
  session(100, { kernels: [slots(1, 1, gpus)], priority: 50, userId: 'usr_bob', ...rest });

const group = (
  nodes: readonly SnapshotNode[],
  sessions: readonly SnapshotRunning[],
  change: Parameters<typeof preemptionPolicy>[0] = {},
): Snapshot =>
  snapshot({
    nodes: booked(nodes, sessions),
    pending: [],
    running: sessions,
    policy: { preemption: preemptionPolicy(change) },
  });

describe('the set of victims', () => {
  test('has nobody in it who need not go: worked example 11 of the budgets', () => {
    const full = [
      running(3, { startedAt: at(-10), rooms: [{ node: 'node-a', devices: deviceIds('node-a', 0, 6) }] }),
      running(2, { startedAt: at(-20), rooms: [{ node: 'node-a', devices: deviceIds('node-a', 6, 8) }] }),
      running(1, { startedAt: at(-30), rooms: [{ node: 'node-a', devices: deviceIds('node-a', 14, 2) }] }),
    ];
    const world = group([node('node-a', { gpus: 16 })], full);
    expect(names(victimsFor(world, wants(8)), world)).toEqual(['r2']);
  });

  test('holds exactly the room that the session gets then', () => {
    const world = group([four('node-a')], [onA(1, 0, 3), onA(2, 3, 1)]);
    const answer = victimsFor(world, wants(3));
    expect(answer).toMatchObject({
      hold: {
        sessionId: sessionId(100),
        version: 1,
        victims: [sessionId(1)],
        kernels: [{ node: 'node-a', deviceIds: ['node-a-0', 'node-a-1', 'node-a-2'], slots: slots(1, 1, 3) }],
      },
      expectedStart: { at: at(10 / 60) },
    });
  });

  test('takes gangs whole, with what they have elsewhere', () => {
    const gang = running(1, {
      rooms: [
        { node: 'node-a', devices: deviceIds('node-a', 0, 4) },
        { node: 'node-b', devices: deviceIds('node-b', 0, 4) },
      ],
    });
    const world = group([four('node-a'), four('node-b')], [gang]);
    const answer = victimsFor(world, wants(2));
    expect(names(answer, world)).toEqual(['r1']);
  });

  test('is nobody when all of them together do not make room', () => {
    const world = group([four('node-a')], [onA(1, 0, 2), onA(2, 2, 2, { preemptible: false })]);
    expect(victimsFor(world, wants(4))).toMatchObject({
      none: 'it would not fit even without the 1 session of lower priority than 50',
      earliest: null,
    });
  });

  test('passes over those that hold nothing of what lacks', () => {
    const idle = running(9, { startedAt: at(-1) });
    const world = group([four('node-a')], [idle, onA(1, 0, 4)]);
    expect(names(victimsFor(world, wants(4)), world)).toEqual(['r1']);
  });

  test('frees shares of devices too', () => {
    const shared: SnapshotNode = { ...node('node-a', { gpus: 1 }) };
    const nodes = [{ ...shared, devices: shared.devices.map((device) => ({ ...device, sharing: 'mps' as const })) }];
    const share = (n: number, gib: number, ago: number) =>
      running(n, {
        startedAt: at(-ago),
        rooms: [{ node: 'node-a', devices: ['node-a-0'], slots: { ...slots(1, 1), gpuMemoryBytes: gib * GIB } }],
      });
    const world = group(nodes, [share(1, 6, 3), share(2, 10, 2), share(3, 8, 1)]);
    const asked = { ...slots(1, 1), gpuMemoryBytes: 12 * GIB };
    const answer = victimsFor(world, session(100, { priority: 50, kernels: [asked] }));
    expect(names(answer, world)).toEqual(['r2', 'r3']);
    expect(names(victimsFor(world, wants(1)), world)).toEqual(['r1', 'r2', 'r3']);
  });

  test('makes room for a gang over several nodes, of kernels that differ too', () => {
    const full = (name: string, n: number) =>
      deviceIds(name, 0, 4).map((id, d) =>
        running(n + d, { rooms: [{ node: name, devices: [id] }], startedAt: at(-n - d) }),
      );
    const world = group([four('node-a'), four('node-b')], [...full('node-a', 10), ...full('node-b', 20)]);
    const gang = (...gpus: number[]) =>
      session(100, { priority: 50, clusterMode: 'multi-node', kernels: gpus.map((each) => slots(1, 1, each)) });
    expect(names(victimsFor(world, gang(3, 3)), world)).toEqual(['r10', 'r11', 'r12', 'r20', 'r21', 'r22']);
    expect(names(victimsFor(world, gang(4, 1)), world)).toEqual(['r10', 'r11', 'r12', 'r13', 'r20']);
  });
});

describe('who is stopped', () => {
  const cases: [
    title: string,
    victim: RunningShape,
    asks: SessionShape,
    policy: Parameters<typeof preemptionPolicy>[0],
    isStopped: boolean,
  ][] = [
    ['a session of lower priority is', {}, {}, {}, true],
    ['one of the same priority is not', { priority: 50 }, {}, {}, false],
    ['one that is not preemptible is not', { preemptible: false }, {}, {}, false],
    ['one within its minimum runtime is not', { minRuntimeSeconds: 3601 }, {}, {}, false],
    ['one whose minimum runtime has just ended is', { minRuntimeSeconds: 3600 }, {}, {}, true],
    ['one that starts is not', { startedAt: null }, {}, {}, false],
    ['nobody is while preemption is off', {}, {}, { enabled: false }, false],
    ['in the scope of the user another user is not', {}, {}, { scope: 'user' }, false],
    ['in the scope of the user the same user is', {}, { userId: 'usr_alice' }, { scope: 'user' }, true],
    ['in the scope of the project another user of it is', {}, {}, { scope: 'project' }, true],
    ['in the scope of the project another project is not', {}, { projectId: 'prj_x' }, { scope: 'project' }, false],
    ['in the scope of the domain another project is', {}, { projectId: 'prj_x' }, { scope: 'domain' }, true],
    ['in the scope of the domain another domain is not', {}, { domainId: 'dom_x' }, { scope: 'domain' }, false],
  ];
  for (const [title, victim, asks, policy, isStopped] of cases) {
    test(title, () => {
      const world = group([four('node-a')], [onA(1, 0, 4, victim)], policy);
      expect(names(victimsFor(world, wants(4, asks)), world)).toEqual(isStopped ? ['r1'] : []);
    });
  }
});

describe('the order of victims', () => {
  const three = [
    onA(1, 0, 2, { startedAt: at(-50), priority: 10 }),
    onA(2, 2, 1, { startedAt: at(-60), priority: 10 }),
    onA(3, 3, 1, { startedAt: at(-70), priority: 20 }),
  ];
  const cases: [order: 'newest' | 'oldest' | 'least-lost-work', victim: string][] = [
    ['newest', 'r1'],
    ['oldest', 'r2'],
    ['least-lost-work', 'r2'],
  ];
  for (const [order, victim] of cases) {
    test(`is ${order} among the lowest priority`, () => {
      const world = group([four('node-a')], three, { order });
      expect(names(victimsFor(world, wants(1)), world)).toEqual([victim]);
    });
  }

  test('is a parameter: another rule stops others', () => {
    const world = group([four('node-a')], three);
    const rule: VictimRule = {
      ...{ key: 'highest', whom: 'of any priority', because: () => 'it is over its budget' },
      mayStop: () => true,
      compare: (a, b) => b.session.priority - a.session.priority || (a.session.id < b.session.id ? -1 : 1),
    };
    const answer = planVictims(preemptionOf(world, NOW, passOf(world)), wants(1, { priority: 0 }), { rule });
    expect(names(answer, world)).toEqual(['r3']);
    expect('stops' in answer && answer.stops[0]?.message).toContain('it is over its budget');
  });
});

describe('what is told', () => {
  test('to the one that is stopped: for whom, by which rule, and that its minimum was kept', () => {
    const world = group([four('node-a')], [onA(1, 0, 4, { minRuntimeSeconds: 600, gracePeriodSeconds: 30 })]);
    const answer = victimsFor(world, wants(2));
    expect('stops' in answer && answer.stops).toEqual([
      {
        ...{ sessionId: sessionId(1), version: 3, attempt: 1, cause: 'preempted', forSessionId: sessionId(100) },
        ...{ then: 'requeue', graceSeconds: 30, breaksMinRuntime: false },
        message: `makes room for s100 (${sessionId(100)}, priority 50): priority 50 against 10, newest first; its minimum runtime of 600 s ended at ${at(-50)}`,
      },
    ]);
  });

  test('to the one that waits: how many were told, and by when they are gone', () => {
    const world = group([four('node-a')], [onA(1, 0, 2), onA(2, 2, 2, { gracePeriodSeconds: 60 })]);
    expect(victimsFor(world, wants(4))).toMatchObject({
      message: `2 sessions with 4 GPU told to end for it: r1 and r2; the room is held, and free by ${at(1)} at the latest`,
      expectedStart: { at: at(1) },
    });
  });

  test('a policy that ends what it stops says so in the order', () => {
    const world = group([four('node-a')], [onA(1, 0, 4)], { mode: 'terminate' });
    expect(victimsFor(world, wants(2))).toMatchObject({ stops: [{ then: 'end' }] });
  });
});

describe('the first moment at which enough may be stopped', () => {
  const protectedFor = (minutes: number): RunningShape => ({ minRuntimeSeconds: 3600 + minutes * 60 });

  test('is exact from minimum runtimes: worked example 10 of the budgets', () => {
    const world = group(
      [node('node-a', { gpus: 16 })],
      [
        running(1, { rooms: [{ node: 'node-a', devices: deviceIds('node-a', 0, 8) }], ...protectedFor(30) }),
        running(2, { rooms: [{ node: 'node-a', devices: deviceIds('node-a', 8, 8) }], ...protectedFor(60) }),
      ],
    );
    expect(victimsFor(world, wants(8))).toMatchObject({ earliest: at(30), expectedStart: { at: at(30 + 10 / 60) } });
    expect(victimsFor(world, wants(16))).toMatchObject({ earliest: at(60) });
  });

  test('counts on those that may be stopped at once, and on the longest grace period among them', () => {
    const world = group([four('node-a')], [onA(1, 0, 2, { gracePeriodSeconds: 120 }), onA(2, 2, 2, protectedFor(5))]);
    expect(victimsFor(world, wants(4))).toMatchObject({ earliest: at(5), expectedStart: { at: at(7) } });
  });

  test('is unknown while one of them starts, and says which', () => {
    const world = group([four('node-a')], [onA(1, 0, 4, { startedAt: null })]);
    const answer = victimsFor(world, wants(4));
    expect(answer).toMatchObject({ earliest: null });
    expect('none' in answer && answer.none).toContain('r1 would have to be stopped');
  });

  test('is told to the first of those alike; the second is not promised the same room', () => {
    const world = group([four('node-a')], [onA(1, 0, 4, protectedFor(5))]);
    const preemption = preemptionOf(world, NOW, passOf(world));
    expect(planVictims(preemption, wants(4))).toMatchObject({
      earliest: at(5),
      expectedStart: { at: at(5 + 10 / 60) },
    });
    expect(planVictims(preemption, session(101, { kernels: [slots(1, 1, 4)], priority: 50 }))).toMatchObject({
      earliest: at(5),
      expectedStart: { at: null },
    });
  });
});

describe('in one pass', () => {
  const second = session(101, { kernels: [slots(1, 1, 2)], priority: 40 });

  test('a victim is chosen once, and its room goes to the one it was stopped for', () => {
    const world = group([four('node-a')], [onA(1, 0, 2, { startedAt: at(-5) }), onA(2, 2, 2)]);
    const pass = passOf(world);
    const preemption = preemptionOf(world, NOW, pass);
    expect(names(ask(preemption, pass, wants(2)), world)).toEqual(['r1']);
    expect(names(ask(preemption, pass, second), world)).toEqual(['r2']);
    expect(ask(preemption, pass, session(102, { kernels: [slots(1, 1, 2)], priority: 30 }))).toMatchObject({
      earliest: null,
    });
  });

  test('what a gang leaves beyond what it was stopped for is held for the next without another stop', () => {
    const world = group([four('node-a')], [onA(1, 0, 4), onA(2, 0, 0)]);
    const pass = passOf(world);
    const preemption = preemptionOf(world, NOW, pass);
    expect(names(ask(preemption, pass, wants(2)), world)).toEqual(['r1']);
    expect(ask(preemption, pass, second)).toMatchObject({ stops: [], hold: { victims: [sessionId(1)] } });
  });

  test('room that ends already is waited for, before anybody is stopped', () => {
    const world = group([four('node-a')], [onA(1, 0, 2, { goneBy: at(2) }), onA(2, 2, 2)]);
    expect(victimsFor(world, wants(2))).toMatchObject({
      stops: [],
      hold: { victims: [sessionId(1)], kernels: [{ deviceIds: deviceIds('node-a', 0, 2) }] },
      expectedStart: { at: at(2) },
    });
  });

  test('held room of an earlier pass is nobody else’s, while its victims leave', () => {
    const leaving = onA(1, 0, 4, { goneBy: at(1) });
    const hold = { sessionId: sessionId(7), since: NOW, victims: [sessionId(1)], kernels: leaving.kernels };
    const world = { ...group([four('node-a')], [leaving]), holds: [hold] };
    expect(victimsFor(world, wants(1))).toMatchObject({ earliest: null });
  });
});
