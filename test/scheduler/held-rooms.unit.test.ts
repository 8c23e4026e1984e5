import { describe, expect, test } from 'vitest';
import type { SnapshotPending, SnapshotRunning } from '../../src/contract/snapshot.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { NOW, node, quota, type SnapshotShape, session, sessionId, slots, snapshot } from './build.js';
import { booked, running } from './build-running.js';

const at = (seconds: number): string => new Date(Date.parse(NOW) + seconds * 1000).toISOString();
const onA = (n: number, cpu: number, shape: object = {}) =>
  running(n, { rooms: [{ node: 'a', slots: slots(cpu, 1) }], ...shape });

const asks = session(1, { kernels: [slots(3, 1)], priority: 50 });
const room = {
  kernelId: asks.kernels[0]?.id as SnapshotPending['kernels'][number]['id'],
  node: 'a',
  deviceIds: [],
  slots: slots(3, 1),
};
const holdFor = (...victims: number[]) => ({
  sessionId: asks.id,
  since: at(-5),
  victims: victims.map((n) => sessionId(n)),
  kernels: [room],
});
const planOf = (shape: Partial<SnapshotShape> & { readonly running: readonly SnapshotRunning[] }) =>
  planPass(
    snapshot({ nodes: booked([node('a', { cpu: 4 })], shape.running), pending: [asks, session(2)], ...shape }),
    NOW,
  );

describe('a victim that left, and runs again beside the room that is kept', () => {
  const leaving = onA(9, 1, { goneBy: at(30) });
  const back = onA(8, 1, { attempt: 2, startedAt: at(-1) });

  test('gives nothing back: all that is free of the room is kept', () => {
    const plan = planOf({ running: [leaving, back], holds: [holdFor(9, 8)] });
    expect(plan.placed).toEqual([]);
    expect(plan.waiting[0]).toMatchObject({
      reason: 'waiting_for_victims',
      blockers: [{ name: leaving.id }],
      expectedStart: { at: at(30) },
    });
  });

  test('is not waited for: room that is lost is given up once the others are gone', () => {
    const plan = planOf({ running: [back, onA(7, 1)], holds: [holdFor(9, 8)] });
    expect(plan).toMatchObject({ droppedHolds: [asks.id], blockedBy: asks.id });
    expect(plan.waiting[0]).toMatchObject({ reason: 'insufficient_capacity' });
  });
});

describe('room that is kept, and a quota', () => {
  const leaving = onA(9, 2, { goneBy: at(30), userId: 'usr_bob' });
  const limits = (cpu: number, held = 0) => [quota('user', { cpuMilli: cpu * 1000 }, { cpuMilli: held * 1000 })];
  const world = { running: [leaving], holds: [holdFor(9)] };
  const bobs = session(3, { kernels: [slots(2, 1)], userId: 'usr_bob' });

  test('that no longer allows it: the room is given up to others', () => {
    const plan = planOf({ ...world, quotas: limits(4, 2), pending: [asks, bobs] });
    expect(plan).toMatchObject({ droppedHolds: [asks.id], placed: [{ sessionId: bobs.id }] });
    expect(plan.waiting).toMatchObject([{ sessionId: asks.id, reason: 'user_quota' }]);
    expect(plan.nextWakeAt).toBe(at(1));
  });

  test('… also behind a session that stops the pass', () => {
    const big = session(5, { kernels: [slots(4, 1)], priority: 90, userId: 'usr_bob' });
    const plan = planOf({ ...world, quotas: limits(4, 2), pending: [big, asks] });
    expect(plan).toMatchObject({ blockedBy: big.id, droppedHolds: [asks.id] });
  });

  test('counts as used by whom it is kept for: nobody behind takes it meanwhile', () => {
    const plan = planOf({ ...world, quotas: limits(3) });
    expect(plan.placed).toEqual([]);
    expect(plan.waiting).toMatchObject([{ reason: 'waiting_for_victims' }, { reason: 'user_quota' }]);
  });

  test('… from the pass on that stops others for it', () => {
    const plan = planOf({
      running: [onA(9, 2, { priority: 1 })],
      quotas: limits(3),
      policy: { preemption: { enabled: true, mode: 'requeue', scope: 'user', order: 'newest' } },
    });
    expect(plan.stops).toMatchObject([{ sessionId: sessionId(9) }]);
    expect(plan.waiting).toMatchObject([{ reason: 'waiting_for_victims' }, { reason: 'user_quota' }]);
  });
});

test('victims that outstay their time: no start is promised in the past', () => {
  const plan = planOf({ running: [onA(9, 2, { goneBy: at(-60) })], holds: [holdFor(9)] });
  expect(plan.waiting[0]).toMatchObject({
    reason: 'waiting_for_victims',
    expectedStart: { at: null, basis: expect.stringContaining('r9 was to have left by') },
  });
});
