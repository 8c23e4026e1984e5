import { describe, expect, test } from 'vitest';
import { drainPlan } from '../../src/scheduler/drain-plan.js';
import { forecast, forecastInOrder } from '../../src/scheduler/forecast.js';
import { whatIf } from '../../src/scheduler/what-if.js';
import { NOW, node, sessionId } from './build.js';
import { asks, decided, fairShare, runs } from './build-budgets.js';
import { at } from './build-running.js';

const TWO = { weights: { x: 1, y: 1 } };
const nodes = (count: number, gpus = 8) =>
  Array.from({ length: count }, (_, i) => node(`node-${'abcdefgh'[i] ?? i}`, { gpus }));

describe('worked examples of the budgets page, by a pass', () => {
  test('7: with committed time two equal budgets take turns', () => {
    const pending = [1, 2, 3, 4, 5, 6].map((n) => asks(n, n <= 3 ? 'x' : 'y', 8, 4));
    const all = fairShare({ ...TWO, use: { x: 4 } }, { nodes: nodes(6), pending });
    expect(decided(all).placed).toEqual(['s4', 's1', 's5', 's2', 's6', 's3']);
    expect(decided({ ...all, nodes: nodes(3) }).placed).toEqual(['s4', 's1', 's5']);
  });

  test('8: what is still protected counts: x used less and is promised more, so y is first', () => {
    const running = [
      runs(1, 'x', { gpus: 8, m: 24, ago: 2 }),
      runs(2, 'y', { gpus: 8, m: 4, ago: 10, node: 'node-b' }),
    ];
    const pending = [asks(3, 'x', 8, 1), asks(4, 'y', 8, 1)];
    const world = fairShare({ ...TWO, use: { x: 16, y: 80 } }, { nodes: nodes(3), running, pending });
    expect(decided(world).placed).toEqual(['s4']);
    expect(decided(world).order).toEqual(['s3']);
  });

  test('10: x1 is past its minimum and stops for y', () => {
    const running = [runs(1, 'x', { gpus: 8, m: 4, ago: 4 }), runs(2, 'x', { gpus: 8, m: 4, ago: 3, node: 'node-b' })];
    const world = fairShare({ ...TWO, use: { x: 56 } }, { nodes: nodes(2), running, pending: [asks(3, 'y', 8, 4)] });
    const { plan, stopped, waiting } = decided(world);
    expect(stopped).toEqual(['r1']);
    expect(plan.holds).toMatchObject([{ sessionId: sessionId(3), victims: [sessionId(1)] }]);
    expect(plan.stops[0]?.message).toContain(
      'x (0.012 of its share used or promised) is more over-served than y (0 of its share used or promised)',
    );
    expect(waiting('s3')?.reason).toBe('waiting_for_victims');
  });

  test.each([
    ['8 GPUs, and x1 began 3.5 h ago', 8, 3.5, 30],
    ['16 GPUs', 16, 3.5, 60],
  ])('10: nobody stops for %s; the claim time is when enough are past their minimum', (_what, gpus, ago, minutes) => {
    const running = [runs(1, 'x', { gpus: 8, m: 4, ago }), runs(2, 'x', { gpus: 8, m: 4, ago: 3, first: 8 })];
    const pending = [asks(3, 'y', gpus, 4)];
    const world = fairShare({ ...TWO, use: { x: 56 } }, { nodes: nodes(1, 16), running, pending });
    const { plan, stopped, waiting } = decided(world);
    expect(stopped).toEqual([]);
    expect(plan.reservations).toMatchObject([{ sessionId: sessionId(3), at: at(minutes) }]);
    expect(waiting('s3')?.expectedStart.at).toBe(at(minutes));
    expect(plan.nextWakeAt).toBe(at(30));
    expect(decided(world, minutes).stopped.toSorted()).toEqual(gpus === 8 ? ['r1'] : ['r1', 'r2']);
  });

  test('the head counts on the minimum of what was chosen before it in the same pass, placed or with room held', () => {
    const three = { weights: { x: 1, y: 1, z: 1 }, use: { x: 56, z: 1 } };
    const pending = [asks(3, 'y', 8, 4), asks(4, 'z', 8, 4), asks(5, 'x', 4, 6, { maxRuntimeSeconds: 8 * 3600 })];
    const placed = fairShare(three, { pending });
    expect(decided(placed).placed).toEqual(['s3']);
    const basis = 'node-a, when s3 has left by its minimum runtime';
    expect(decided(placed).plan.reservations).toMatchObject([{ sessionId: sessionId(4), at: at(240), basis }]);
    const stops = fairShare(three, { running: [runs(1, 'x', { gpus: 8, m: 1, ago: 3 })], pending });
    const { plan, stopped, waiting } = decided(stops);
    expect(stopped).toEqual(['r1']);
    expect(plan.reservations).toMatchObject([{ sessionId: sessionId(4), at: at(240) }]);
    expect(waiting('s4')?.expectedStart.at).toBe(at(240));
    const holds = plan.holds.map(({ sessionId: id, victims, kernels }) => ({
      sessionId: id,
      since: NOW,
      victims,
      kernels,
    }));
    const leaving = [runs(1, 'x', { gpus: 8, m: 1, ago: 3 }, { goneBy: at(1) })];
    const next = decided(fairShare(three, { running: leaving, pending, holds }));
    expect(next.plan.reservations).toMatchObject([{ sessionId: sessionId(4), at: at(241) }]);
  });

  test('the claim of the head counts in the order, and makes its branch over-served for nobody before it runs', () => {
    const three = { weights: { x: 1, y: 1, z: 1 }, use: { x: 5, y: 50, z: 6 } };
    const running = [runs(1, 'x', { gpus: 8, m: 1, ago: 2, node: 'node-b' }), runs(2, 'y', { gpus: 8, m: 3, ago: 2 })];
    const pending = [asks(3, 'x', 8, 4), asks(4, 'z', 8, 1), asks(5, 'x', 8, 4)];
    const { plan, stopped, order } = decided(fairShare(three, { nodes: nodes(2), running, pending }));
    expect(plan.reservations).toMatchObject([{ sessionId: sessionId(3), at: at(60) }]);
    expect(order).toEqual(['s3', 's4', 's5']);
    expect(stopped).toEqual([]);
  });

  test('what runs is committed by the factor of its booking, whatever the factor is now', () => {
    const pending = [asks(3, 'x', 8, 1), asks(4, 'y', 8, 1)];
    const world = (milliGpus?: number) =>
      fairShare(
        { ...TWO, use: { y: 20 }, factors: { 'sim-24g': 4000 } },
        {
          nodes: nodes(2),
          running: [runs(1, 'x', { gpus: 8, m: 3, ago: 1 }, milliGpus === undefined ? {} : { milliGpus })],
          pending,
        },
      );
    expect(decided(world()).placed).toEqual(['s4']);
    expect(decided(world(8000)).placed).toEqual(['s3']);
  });

  test('11: the latest are taken first, and the last taken is put back when it is not needed', () => {
    const running = [
      runs(1, 'x', { gpus: 8, m: 1, ago: 9 }),
      runs(2, 'x', { gpus: 8, m: 1, ago: 8, first: 8 }),
      runs(3, 'x', { gpus: 6, m: 1, ago: 7, first: 16 }),
    ];
    const world = fairShare(
      { ...TWO, use: { x: 100 } },
      { nodes: nodes(1, 22), running, pending: [asks(4, 'y', 8, 1)] },
    );
    expect(decided(world).stopped).toEqual(['r2']);
  });

  const drain = { since: NOW, deadline: null };
  test('12: unallocated work leaves a draining host at once, a at +1 h and b at +2.5 h', () => {
    const running = [
      runs(1, null, { gpus: 2, m: 9, ago: 1 }),
      runs(2, 'x', { gpus: 2, m: 4, ago: 3, first: 2 }, { resumable: true }),
      runs(3, 'y', { gpus: 2, m: 4, ago: 1.5, first: 4 }),
    ];
    const hosts = [{ ...node('node-a', { gpus: 8 }), state: 'UNHEALTHY' as const, drain }];
    const world = fairShare(TWO, { nodes: hosts, running });
    expect(decided(world).stopped).toEqual(['r1']);
    expect(decided(world).plan.nextWakeAt).toBe(at(60));
    expect(decided(world, 60).plan.stops.map(({ then }) => then)).toEqual(['end', 'requeue']);
    expect(decided(world, 150).stopped).toEqual(['r1', 'r2', 'r3']);
  });

  test('12: a gang over two hosts (began −1, m 6) holds a draining one until +5', () => {
    const gang = runs(1, 'x', { gpus: 2, m: 6, ago: 1 });
    const [room] = gang.kernels;
    const both = { ...gang, kernels: [room, { ...room, node: 'node-b', deviceIds: ['node-b-0', 'node-b-1'] }] };
    const hosts = [{ ...node('node-a', { gpus: 8 }), state: 'UNHEALTHY' as const, drain }, node('node-b', { gpus: 8 })];
    const world = fairShare(TWO, { nodes: hosts, running: [both as typeof gang] });
    expect(decided(world).plan.nextWakeAt).toBe(at(300));
    expect(decided(world, 299).stopped).toEqual([]);
    expect(decided(world, 300).stopped).toEqual(['r1']);
  });

  test('14: A3, unused, is first until its use is its allocated time: 47.04 h of 32 GPUs', () => {
    const weights = { A: 70, 'A/A1': 50, 'A/A2': 30, 'A/A3': 20, B: 30 };
    const first = (hours: number) => {
      // The others use what they are allocated.
      const use = { A1: 3763.2, A2: 2257.92, B: 3225.6, A3: 32 * hours };
      const pending = ['A1', 'A2', 'A3', 'B'].map((name, n) => asks(n, name, 8, 1));
      return decided(fairShare({ weights, use }, { nodes: nodes(1, 0).concat(nodes(1, 4)), pending })).order;
    };
    expect(first(47.03)?.[0]).toBe('s2');
    expect(first(47.05)?.[0]).toBe('s3');
  });
});

describe('what a pass by fair share decides', () => {
  const full = [runs(1, 'x', { gpus: 8, m: 4, ago: 1 })];

  test('who has no budget, or one that is closed, is unallocated: it stops nobody, and gives way within the short grace', () => {
    const closed = asks(2, 'gone', 8, 9);
    const running = [runs(1, null, { gpus: 8, m: 9, ago: 0 }, { startedAt: null, gracePeriodSeconds: 600 })];
    const world = fairShare(TWO, { running, pending: [closed] });
    expect(decided(world).stopped).toEqual([]);
    const paid = decided({ ...world, pending: [closed, asks(3, 'y', 8, 1)] });
    expect(paid.order).toEqual(['s3', 's2']);
    expect(paid.plan.stops).toMatchObject([{ sessionId: sessionId(1), then: 'end', graceSeconds: 30 }]);
  });

  test('nobody of the own budget is stopped, and a replica is not', () => {
    const past = runs(1, 'x', { gpus: 8, m: 1, ago: 9 });
    const own = fairShare({ ...TWO, use: { x: 72 } }, { running: [past], pending: [asks(2, 'x', 8, 1)] });
    expect(decided(own).stopped).toEqual([]);
    expect(decided(own).waiting('s2')?.expectedStart.basis).toMatch(/^unknown, because r1 has no maximum runtime/u);
    const replica = { ...past, kind: 'inference' as const, preemptible: false };
    expect(decided({ ...own, running: [replica], pending: [asks(2, 'y', 8, 1)] }).stopped).toEqual([]);
  });

  test('others start ahead of the head only when they are gone, or may be stopped, by its claim time', () => {
    const running = [runs(1, 'x', { gpus: 6, m: 4, ago: 1 })];
    const ahead = (rest: ReturnType<typeof asks>) =>
      decided(fairShare({ ...TWO, use: { x: 100 } }, { running, pending: [asks(2, 'y', 8, 1), rest] })).placed;
    expect(ahead(asks(3, 'x', 2, 2))).toEqual(['s3']);
    expect(ahead(asks(3, 'x', 2, 4))).toEqual([]);
    expect(ahead(asks(3, 'y', 2, 1))).toEqual([]);
    expect(ahead(asks(3, 'y', 2, 1, { maxRuntimeSeconds: 3 * 3600 }))).toEqual(['s3']);
    expect(ahead(asks(3, null, 2, 0))).toEqual(['s3']);
  });

  test('who waits is told what its budget has used, and who goes first', () => {
    const weights = { A: 1, 'A/x': 1, 'A/y': 1, B: 1 };
    const use = { x: 2000, y: 1300, B: 5913.6 };
    const pending = [asks(2, 'x', 8, 1), asks(3, 'y', 8, 1), asks(4, 'B', 8, 1), asks(5, null, 8, 0)];
    const world = decided(
      fairShare({ weights, use }, { running: [runs(1, 'y', { gpus: 8, m: 99, ago: 0 })], pending }),
    );
    expect(world.order).toEqual(['s2', 's3', 's4', 's5']);
    expect(world.waiting('s2')?.message).toMatch(
      /; its budget A\/x has used 0.74 of its share; it is the first in order$/u,
    );
    expect(world.waiting('s3')?.message).toMatch(
      /; its budget A\/y has used 0.48 of its share; A\/x goes first \(0.74 of its share\)$/u,
    );
    expect(world.waiting('s4')?.message).toMatch(
      /; its budget B has used 1.1 of its share; A goes first \(0.61 of its share\)$/u,
    );
    expect(world.waiting('s5')?.message).toMatch(/; it is unallocated: allocated work goes first, and may stop it$/u);
  });

  test('use and committed time of other groups, and factors, count', () => {
    const pending = [asks(2, 'x', 4, 1), asks(3, 'y', 4, 1), asks(4, 'y', 4, 1)];
    const elsewhere = fairShare({ ...TWO, use: { y: 3 }, elsewhere: { x: 4 } }, { pending });
    expect(decided(elsewhere).placed).toEqual(['s3', 's2']);
    const dear = fairShare({ ...TWO, use: { x: 6 }, factors: { 'sim-24g': 2000 } }, { pending });
    expect(decided(dear).placed).toEqual(['s3', 's2']);
  });

  test('a dry run puts the candidate in its place in the order, and says whom it would stop', () => {
    const running = [runs(1, 'x', { gpus: 8, m: 1, ago: 2 })];
    const world = fairShare(
      { ...TWO, use: { x: 100 } },
      { running, pending: [asks(2, 'x', 8, 1), asks(3, null, 8, 0)] },
    );
    const answer = whatIf(world, asks(4, 'y', 8, 1, { name: 'mine' }), NOW);
    expect(answer).toMatchObject({
      position: 1,
      outcome: 'waits',
      wouldStop: [{ name: 'r1' }],
      expectedStart: { at: NOW },
    });
    expect(whatIf(world, asks(5, 'x', 8, 1), NOW)).toMatchObject({ position: 2, wouldStop: [] });
  });

  test('the forecast of one behind the head is after the claim times of those ahead', () => {
    const pending = [asks(2, 'y', 8, 1, { maxRuntimeSeconds: 7200 }), asks(3, 'y', 8, 1)];
    const world = fairShare({ ...TWO, use: { x: 100 } }, { running: full, pending });
    expect(decided(world).waiting('s3')?.expectedStart).toMatchObject({ at: null });
    expect(forecast(world, sessionId(2), NOW)?.at).toBe(at(180));
    expect(forecast(world, sessionId(3), NOW)?.at).toBe(at(300));
  });

  test('one look tells the first in order the start that a forecast tells each of them, but of those who wait for a time', () => {
    const bound = { maxRuntimeSeconds: 7200 };
    const later = asks(6, 'y', 8, 1, { ...bound, startsAt: at(30) });
    const pending = [
      asks(2, 'y', 8, 1, bound),
      asks(3, 'y', 8, 1, bound),
      asks(4, 'x', 8, 2),
      asks(5, 'y', 64, 1),
      later,
    ];
    const world = fairShare({ ...TWO, use: { x: 100 } }, { running: full, pending });
    const starts = forecastInOrder(world, NOW, 9);
    expect([...starts.keys()].toSorted()).toEqual([2, 3, 4, 5].map(sessionId));
    for (const [id, start] of starts) expect(start).toEqual(forecast(world, id, NOW));
    expect(starts.get(sessionId(3))?.at).not.toBeNull();
    expect([...forecastInOrder(world, NOW, 1).keys()]).toEqual([sessionId(2)]);
  });

  test('one whose room is held goes first, and counts before all others', () => {
    const leaving = runs(1, 'x', { gpus: 8, m: 1, ago: 2 }, { goneBy: at(1) });
    const [room] = leaving.kernels;
    if (room === undefined) throw new Error('it has a room');
    const holder = asks(2, 'y', 8, 4);
    const hold = {
      sessionId: holder.id,
      since: NOW,
      victims: [leaving.id],
      kernels: [{ ...room, kernelId: holder.kernels[0]?.id ?? room.kernelId }],
    };
    const pending = [holder, asks(3, 'y', 8, 1), asks(4, 'x', 8, 1)];
    const world = fairShare({ ...TWO, use: { x: 20 } }, { running: [leaving], pending, holds: [hold] });
    expect(decided(world).order).toEqual(['s2', 's4', 's3']);
    expect(decided(world).waiting('s2')?.reason).toBe('waiting_for_victims');
  });

  test('what a drain does to unallocated work is told beforehand', () => {
    const running = [
      runs(1, null, { gpus: 2, m: 9, ago: 1 }, { gracePeriodSeconds: 90 }),
      runs(2, 'x', { gpus: 2, m: 4, ago: 3, first: 2 }, { resumable: true }),
    ];
    const outlook = drainPlan(fairShare(TWO, { running }), { node: 'node-a', deadline: null }, NOW);
    expect(outlook.stops.map(({ stopAt, goneBy, then }) => [stopAt, goneBy, then])).toEqual([
      [NOW, at(0.5), 'end'],
      [at(60), at(60), 'requeue'],
    ]);
  });
});

describe('the next moment at which time alone changes a decision', () => {
  const cross = (use: Readonly<Record<string, number>>, rest: { readonly x?: number; readonly y?: number } = {}) => {
    const running = [runs(1, 'x', { gpus: 8, m: 1, ago: 10 })];
    const weights = { x: rest.x ?? 1, y: rest.y ?? 1 };
    return decided(fairShare({ weights, use }, { running, pending: [asks(2, 'y', 8, 1)] }));
  };
  test('is when what is past its minimum has used more than who waits: no event comes for it', () => {
    const { plan, stopped } = cross({ x: 80, y: 88 });
    expect(stopped).toEqual([]);
    expect(Date.parse(plan.nextWakeAt as string) - Date.parse(NOW)).toBeCloseTo(3_600_000, -1);
    expect(cross({ x: 80, y: 160 }, { x: 2, y: 4 }).stopped).toEqual([]);
  });
  test('is not sooner than a 2000th of the window, and not at all where weights keep it away', () => {
    const { plan } = cross({ x: 80, y: 80 });
    expect(Date.parse(plan.nextWakeAt as string) - Date.parse(NOW)).toBe(300_000);
    expect(cross({ x: 80, y: 80 }, { y: 0 }).plan.nextWakeAt).toBeNull();
  });
});
