import { describe, expect, test } from 'vitest';
import { forecast } from '../../src/scheduler/forecast.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { whatIf } from '../../src/scheduler/what-if.js';
import { NOW, node, type SessionShape, session, sessionId, slots, snapshot } from './build.js';
import { booked, running } from './build-running.js';

const at = (seconds: number): string => new Date(Date.parse(NOW) + seconds * 1000).toISOString();

/** 4 CPU; one that runs since `NOW` holds 2; Alice (1) asks 4, then Bob (2) asks 1. Seconds; graces are 0. */
interface Queue {
  readonly backfill: 'none' | 'easy' | 'conservative';
  readonly runs: number | null;
  readonly bob: number | null;
}

function experiment({ backfill, runs, bob }: Queue) {
  const holder = running(9, {
    rooms: [{ node: 'node-a', slots: slots(2, 1) }],
    startedAt: NOW,
    maxRuntimeSeconds: runs,
    gracePeriodSeconds: 0,
  });
  const shape = (cpu: number, max: number | null): SessionShape => ({
    kernels: [slots(cpu, 1)],
    maxRuntimeSeconds: max,
    gracePeriodSeconds: 0,
  });
  return snapshot({
    nodes: booked([node('node-a', { cpu: 4 })], [holder]),
    running: [holder],
    pending: [session(1, shape(4, 50)), session(2, shape(1, bob))],
    policy: { backfill },
  });
}

describe('experiment 1, the queue with backfill: Bob runs ahead of Alice only when both maximum runtimes let him', () => {
  test.each<[title: string, queue: Queue, bob: 'placed' | 'delays_reservation' | 'skipped', alice: number | null]>([
    ['none: Bob is skipped, however short', { backfill: 'none', runs: 100, bob: 10 }, 'skipped', 100],
    ['easy: gone just when the running one is', { backfill: 'easy', runs: 100, bob: 100 }, 'placed', 100],
    ['easy: one second too long', { backfill: 'easy', runs: 100, bob: 101 }, 'delays_reservation', 100],
    ['easy: Bob without a maximum runtime', { backfill: 'easy', runs: 100, bob: null }, 'delays_reservation', 100],
    ['easy: the running one without a maximum runtime', { backfill: 'easy', runs: null, bob: 10 }, 'skipped', null],
    ['conservative: short enough', { backfill: 'conservative', runs: 100, bob: 99 }, 'placed', 100],
    ['conservative: too long', { backfill: 'conservative', runs: 100, bob: 200 }, 'delays_reservation', 100],
  ])('%s', (_title, queue, bob, alice) => {
    const plan = planPass(experiment(queue), NOW);
    expect(plan.placed.map(({ sessionId: id }) => id)).toEqual(bob === 'placed' ? [sessionId(2)] : []);
    expect(plan.skipped).toBe(bob === 'skipped' ? 1 : 0);
    const [first, second] = plan.waiting;
    expect(first).toMatchObject({
      reason: 'insufficient_capacity',
      expectedStart: { at: alice === null ? null : at(alice) },
    });
    if (bob === 'delays_reservation') expect(second).toMatchObject({ reason: bob, blockers: [{ name: sessionId(1) }] });
  });

  test('Alice is shown her node, her time, and who has to leave', () => {
    const plan = planPass(experiment({ backfill: 'easy', runs: 100, bob: 200 }), NOW);
    expect(plan.reservations).toMatchObject([
      { sessionId: sessionId(1), at: at(100), until: at(150), kernels: [{ node: 'node-a' }] },
    ]);
    expect(plan.reservations[0]?.basis).toMatch(/^node-a, when \S+ has left by its maximum runtime$/);
    expect(plan.waiting[1]?.message).toBe(
      `would fit now, but may run until ${at(200)}; kept are node-a for ${sessionId(1)} from ${at(100)}`,
    );
  });

  test('conservative tells Bob his start too, easy does not; a forecast does under each', () => {
    const of = (backfill: Queue['backfill']) => experiment({ backfill, runs: 100, bob: 200 });
    const bobIn = (backfill: Queue['backfill']) => planPass(of(backfill), NOW).waiting[1]?.expectedStart.at;
    expect([bobIn('easy'), bobIn('conservative')]).toEqual([null, at(150)]);
    const forecasts = (['none', 'easy', 'conservative'] as const).map(
      (mode) => forecast(of(mode), sessionId(2), NOW)?.at,
    );
    expect(forecasts).toEqual([at(150), at(150), at(150)]);
    expect(forecast(experiment({ backfill: 'none', runs: null, bob: 1 }), sessionId(2), NOW)).toMatchObject({
      at: null,
    });
  });

  test('a dry run answers the start, its place and the limits', () => {
    const asked = session(3, { kernels: [slots(4, 1)], maxRuntimeSeconds: 10, gracePeriodSeconds: 0 });
    const answer = whatIf(experiment({ backfill: 'conservative', runs: 100, bob: 200 }), asked, NOW);
    expect(answer).toMatchObject({ outcome: 'waits', position: 3, wouldStop: [], expectedStart: { at: at(350) } });
  });
});

test('where what runs may be stopped after its minimum, that is its bound for those who may stop it', () => {
  const holder = running(9, {
    rooms: [{ node: 'node-a', slots: slots(4, 1) }],
    startedAt: NOW,
    minRuntimeSeconds: 60,
    gracePeriodSeconds: 5,
    priority: 0,
  });
  const shape = { nodes: booked([node('node-a', { cpu: 4 })], [holder]), running: [holder] };
  const pending = [session(1, { kernels: [slots(4, 1)], priority: 50, userId: holder.userId })];
  const preemption = { enabled: true, mode: 'requeue', scope: 'user', order: 'newest' } as const;
  const plan = planPass(snapshot({ ...shape, pending, policy: { backfill: 'easy', preemption } }), NOW);
  expect(plan).toMatchObject({ stops: [], reservations: [{ at: at(65) }], nextWakeAt: at(60) });
  const without = planPass(snapshot({ ...shape, pending, policy: { backfill: 'easy' } }), NOW);
  expect(without).toMatchObject({ reservations: [], blockedBy: sessionId(1) });
});
