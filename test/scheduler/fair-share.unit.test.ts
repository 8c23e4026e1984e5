import { describe, expect, test } from 'vitest';
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
      'x (0.01 of its share used or promised) is more over-served than y (0 of its share used or promised)',
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
