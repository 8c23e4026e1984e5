import { describe, expect, test } from 'vitest';
import { groupPolicySchema } from '../../src/contract/group-policy.js';
import type { SnapshotPending } from '../../src/contract/snapshot.js';
import { decayOf, decayStops } from '../../src/scheduler/decay.js';
import { endOrderOf } from '../../src/scheduler/end-order.js';
import { alarm, timestampOrNull } from '../../src/scheduler/moments.js';
import { needsRunning, needsWholeQueue } from '../../src/scheduler/needs-running.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { heldBack } from '../../src/scheduler/time-hold.js';
import { NOW, node, type SessionShape, session, sessionId, slots, snapshot } from './build.js';
import { booked, running } from './build-running.js';

const nowMs = Date.parse(NOW);
const at = (seconds: number): string => new Date(nowMs + seconds * 1000).toISOString();
const upstream = (
  state: 'open' | 'succeeded' | 'failed',
  onFailure: 'cancel' | 'fail' | 'ignore' = 'cancel',
  n = 7,
) => ({
  sessionId: sessionId(n),
  name: `up${n}`,
  state,
  onFailure,
});

describe('who ends without having run', () => {
  test.each<
    [title: string, shape: SessionShape, maxWaitSeconds: number | null, want: object | null, wake: string | null]
  >([
    [
      'a failed upstream cancels',
      { dependsOn: [upstream('failed')] },
      null,
      { state: 'CANCELLED', cause: 'dependency-failed' },
      null,
    ],
    [
      '… or fails it',
      { dependsOn: [upstream('failed', 'cancel'), upstream('failed', 'fail', 8)] },
      null,
      { state: 'ERROR' },
      null,
    ],
    ['… or is ignored', { dependsOn: [upstream('failed', 'ignore')] }, null, null, null],
    ['an open one ends nobody', { dependsOn: [upstream('open')] }, null, null, null],
    ['the longest wait is over', { submittedAt: at(-60) }, 60, { state: 'CANCELLED', cause: 'max-wait' }, null],
    ['… not yet: the alarm is set', { submittedAt: at(-59) }, 60, null, at(1)],
    ['… it counts from the start that was asked for', { submittedAt: at(-99), startsAt: at(-10) }, 60, null, at(50)],
    ['… one that has run before waits on', { submittedAt: at(-99), attempt: 1 }, 60, null, null],
  ])('%s', (_title, shape, maxWaitSeconds, want, wake) => {
    const clock = alarm(nowMs);
    const end = endOrderOf(session(1, shape), { maxWaitSeconds }, clock);
    if (want === null) expect(end).toBeNull();
    else expect(end).toMatchObject(want);
    expect(timestampOrNull(clock.nextMs)).toBe(wake);
  });

  test('also behind the session that stops the pass', () => {
    const failed = session(3, { dependsOn: [upstream('failed')] });
    const big = { kernels: [slots(2, 1)] };
    const plan = planPass(
      snapshot({
        nodes: booked([node('a', { cpu: 2 })], [running(9, { rooms: [{ node: 'a' }] })]),
        pending: [session(1, big), session(2), failed],
      }),
      NOW,
    );
    expect(plan).toMatchObject({ blockedBy: sessionId(1), skipped: 1, ends: [{ sessionId: sessionId(3) }] });
  });
});

test.each<[title: string, shape: SessionShape, paused: boolean, reason: string | null, wake: string | null]>([
  ['a start time', { startsAt: at(5) }, false, 'scheduled_start', at(5)],
  ['… that has come', { startsAt: at(0) }, false, null, null],
  [
    'a start time before a dependency',
    { startsAt: at(5), dependsOn: [upstream('open')] },
    false,
    'scheduled_start',
    at(5),
  ],
  ['a dependency before the pause', { dependsOn: [upstream('open')] }, true, 'dependency_pending', null],
  ['one that succeeded holds nobody', { dependsOn: [upstream('succeeded')] }, false, null, null],
  ['the pause before a back-off', { retryAt: at(9) }, true, 'queue_paused', null],
  ['a back-off', { retryAt: at(9), attempt: 1, avoid: ['n1'] }, false, 'backoff', at(9)],
])('held back: %s', (_title, shape, paused, reason, wake) => {
  const clock = alarm(nowMs);
  expect(heldBack({ group: { name: 'g', policy: { paused } }, clock }, session(1, shape))?.reason ?? null).toBe(reason);
  expect(timestampOrNull(clock.nextMs)).toBe(wake);
});

describe('decay', () => {
  const policy = (decay: object) => groupPolicySchema.parse({ decay });
  const waiting = (decay: Partial<SnapshotPending['decay']>, priority = 50): SnapshotPending =>
    session(1, { priority, decay: { tries: 0, countedAt: null, blockedSince: null, ...decay } });
  test.each<[title: string, of: SnapshotPending, decay: object, want: object | null]>([
    ['counts a pass', waiting({}), {}, { tries: 1, priority: 50, countedAt: NOW }],
    ['at most one in 2 s', waiting({ tries: 1, countedAt: at(-1.9) }), {}, null],
    ['the fifth lowers nothing', waiting({ tries: 4, countedAt: at(-2) }), {}, { tries: 5, priority: 50 }],
    ['the sixth lowers by 10', waiting({ tries: 5, countedAt: at(-2) }), {}, { tries: 0, priority: 40 }],
    ['not below 0', waiting({ tries: 5 }, 4), {}, { priority: 0 }],
    ['0 is not counted', waiting({}, 0), {}, null],
    ['off', waiting({ tries: 5 }), { by: 'off' }, null],
    ['by time: the time begins', waiting({}), { by: 'time' }, { blockedSince: NOW, priority: 50 }],
    [
      'by time: it is over',
      waiting({ blockedSince: at(-600), countedAt: at(-30) }),
      { by: 'time' },
      { blockedSince: NOW, priority: 40 },
    ],
    [
      'by time: a gap is not charged',
      waiting({ blockedSince: at(-600), countedAt: at(-61) }),
      { by: 'time' },
      { blockedSince: NOW, priority: 50 },
    ],
  ])('%s', (_title, of, decay, want) => {
    const changed = decayOf(of, policy(decay), alarm(nowMs));
    if (want === null) expect(changed).toBeNull();
    else expect(changed).toMatchObject(want);
  });

  test('by time sets the alarm; another wait ends the time, and is written only then', () => {
    const clock = alarm(nowMs);
    decayOf(waiting({ blockedSince: at(-100), countedAt: at(-5) }), policy({ by: 'time' }), clock);
    expect(timestampOrNull(clock.nextMs)).toBe(at(500));
    expect(decayStops(waiting({}))).toBeNull();
    expect(decayStops(waiting({ blockedSince: at(-1) }))).toMatchObject({ blockedSince: null, priority: 50 });
  });

  test('only the first session without room is charged; those behind it and those held back are not', () => {
    const nodes = booked([node('a', { cpu: 2 })], [running(9, { rooms: [{ node: 'a' }], maxRuntimeSeconds: 7200 })]);
    const pending = [
      session(1, { startsAt: at(60) }),
      session(2, { kernels: [slots(2, 1)] }),
      session(3, { kernels: [slots(2, 1)] }),
    ];
    const plan = planPass(
      snapshot({
        nodes,
        pending,
        running: [running(9, { rooms: [{ node: 'a' }], maxRuntimeSeconds: 7200 })],
        policy: { backfill: 'easy' },
      }),
      NOW,
    );
    expect(plan.waiting.map(({ decay }) => decay?.tries ?? null)).toEqual([null, 1, null]);
    expect(plan.nextWakeAt).toBe(at(60));
  });
});

describe('room that is kept for a session while its victims leave', () => {
  const victim = running(9, { rooms: [{ node: 'a', slots: slots(2, 1) }], goneBy: at(30) });
  const room = {
    kernelId: session(1).kernels[0]?.id as SnapshotPending['kernels'][number]['id'],
    node: 'a',
    deviceIds: [],
    slots: slots(3, 1),
  };
  const hold = { sessionId: sessionId(1), since: at(-5), victims: [victim.id], kernels: [room] };
  const asks = session(1, { kernels: [slots(3, 1)] });
  const other = (cpu: number) => session(2, { kernels: [slots(cpu, 1)] });
  const plan = (shape: object) =>
    planPass(
      snapshot({
        nodes: booked([node('a', { cpu: 4 })], [victim]),
        running: [victim],
        holds: [hold],
        pending: [asks],
        ...shape,
      }),
      NOW,
    );

  test('it waits for them, until the last is gone, and the pass goes on', () => {
    const made = plan({ pending: [asks, other(1)] });
    expect(made).toMatchObject({ blockedBy: null, droppedHolds: [], placed: [{ sessionId: sessionId(2) }] });
    expect(made.waiting).toMatchObject([{ reason: 'waiting_for_victims', expectedStart: { at: at(30) } }]);
  });
  test('nobody else gets what is free of it already', () => {
    expect(plan({ pending: [asks, other(2)] }).placed).toEqual([]);
  });
  test('it is placed exactly there when all of it is free, also behind a session that stops the pass', () => {
    const free = {
      nodes: [node('a', { cpu: 4 })],
      running: [],
      pending: [session(5, { kernels: [slots(4, 1)], priority: 90 }), asks],
    };
    expect(plan(free)).toMatchObject({
      blockedBy: sessionId(5),
      placed: [{ sessionId: sessionId(1), kernels: [room] }],
      droppedHolds: [],
    });
  });
  test('it is given up when its node is closed, or nobody is left to wait for', () => {
    const closed = booked([node('a', { cpu: 4, state: 'CORDONED' }), node('b', { cpu: 4 })], [victim]);
    expect(plan({ nodes: closed })).toMatchObject({
      droppedHolds: [sessionId(1)],
      placed: [{ kernels: [{ node: 'b' }] }],
    });
    const lost = [node('a', { cpu: 4, usedCpu: 2 })];
    expect(plan({ nodes: lost, running: [] })).toMatchObject({ droppedHolds: [sessionId(1)], blockedBy: sessionId(1) });
  });
  test('… and when the session is not in the queue any more', () => {
    expect(plan({ pending: [] }).droppedHolds).toEqual([sessionId(1)]);
  });
});

test('what a pass has to be given', () => {
  const none = { hasHolds: false, hasDrains: false, hasFailedDependencies: false, hasReplicaGroups: false };
  const policy = (set: object) => groupPolicySchema.parse(set);
  expect(needsRunning(policy({}), none)).toBe(false);
  expect(needsRunning(policy({ backfill: 'easy' }), none)).toBe(true);
  expect(needsRunning(policy({ preemption: { enabled: true } }), none)).toBe(true);
  expect(needsRunning(policy({}), { ...none, hasDrains: true })).toBe(true);
  expect(needsWholeQueue(policy({}), none)).toBe(false);
  expect(needsWholeQueue(policy({ maxWaitSeconds: 60 }), none)).toBe(true);
  expect(needsWholeQueue(policy({}), { ...none, hasFailedDependencies: true })).toBe(true);
});
