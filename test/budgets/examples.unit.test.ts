import { describe, expect, test } from 'vitest';
import { capacityTime } from '../../src/budgets/capacity-time.js';
import { allocatedTime, claimsOf, sumsOver } from '../../src/budgets/claims.js';
import { committedTime, FairShareQueue, type FairShareRequest } from '../../src/budgets/fair-share-queue.js';
import { fromGpuHours, gpuHours, HOUR_MS } from '../../src/budgets/gpu-time.js';
import { minRuntimeCap } from '../../src/budgets/minimum-runtime-cap.js';
import { pyramid } from '../../src/budgets/pyramid.js';
import { WindowUse } from '../../src/budgets/window-use.js';
import { CAPACITY, node, TREE, treeOf, WINDOW_MS } from './tree-of-the-spec.js';

const NOW = 1000 * HOUR_MS;
const hours = (entries: Readonly<Record<string, number>>): ReadonlyMap<string, number> =>
  new Map(Object.entries(entries).map(([id, value]) => [id, fromGpuHours(value)]));

let made = 0;
function request(budgetId: string | null, shape: Partial<FairShareRequest> = {}): FairShareRequest {
  made += 1;
  const id = `r${String(made).padStart(4, '0')}`;
  const plain = { minRuntimeMs: HOUR_MS, milliGpus: 1000, priority: 10, submittedMs: made, projectId: 'p' };
  return { id, budgetId, ...plain, ...shape };
}

/** The order in which all of them are chosen, by budget. */
function order(tree: typeof TREE, loads: ReadonlyMap<string, number>, pending: readonly FairShareRequest[]): string[] {
  const queue = new FairShareQueue({ tree, loads, claims: claimsOf(tree), unallocatedUse: new Map() }, pending);
  const chosen: string[] = [];
  for (let next = queue.next(); next !== null; next = queue.next()) {
    queue.settle(next, 'chosen');
    chosen.push(next.budgetId ?? next.projectId);
  }
  return chosen;
}

describe('the worked examples of the budgets page', () => {
  test('1: claims are products of weights, and the allocated times follow', () => {
    const claims = claimsOf(TREE);
    const allocated = ['A1', 'A2', 'A3', 'B'].map((id) => gpuHours(allocatedTime(claims.get(id) ?? 0, CAPACITY)));
    expect(['A1', 'A2', 'A3', 'B'].map((id) => claims.get(id))).toEqual([0.35, 0.21, 0.14, 0.3].map(near));
    expect(allocated).toEqual([3763.2, 2257.92, 1505.28, 3225.6].map(near));
  });

  test('2: ratios by use, of A as a whole too; the tree puts A2 before B, where a flat order would not', () => {
    const use = hours({ A1: 3000, A2: 2500, A3: 0, B: 3000 });
    const claims = claimsOf(TREE);
    const sums = sumsOver(TREE, use);
    const ratio = (id: string) => (sums.get(id) ?? 0) / allocatedTime(claims.get(id) ?? 0, CAPACITY);
    expect(['A1', 'A2', 'B', 'A'].map((id) => Number(ratio(id).toFixed(4)))).toEqual([0.7972, 1.1072, 0.9301, 0.7308]);
    const pending = ['A1', 'A2', 'A3', 'B'].map((id) => request(id, { minRuntimeMs: 1 }));
    expect(order(TREE, use, pending)).toEqual(['A3', 'A1', 'A2', 'B']);
  });

  test('3: 8 GPUs held from −170 h to −160 h count 64 GPU-h', () => {
    const held = { startMs: NOW - 170 * HOUR_MS, endMs: NOW - 160 * HOUR_MS, milliGpus: 8000 };
    expect(gpuHours(WindowUse.of(WINDOW_MS, NOW, [held]).sum)).toBe(64);
  });

  test('4: unallocated work changes no use and no order', () => {
    const use = hours({ A1: 3000, A2: 2500, A3: 0, B: 3000 });
    const unallocated = [request('A1', { minRuntimeMs: 0, milliGpus: 64_000 }), request(null, { minRuntimeMs: 0 })];
    const pending = [...unallocated, ...['A1', 'B'].map((id) => request(id))];
    expect(order(TREE, use, pending)).toEqual(['A1', 'B', 'A1', 'p']);
  });

  test('5: with half of the cluster unhealthy for the last 48 h, C is 9216 and A1 gets 3225.6', () => {
    const half = { startMs: 0, endMs: NOW - 48 * HOUR_MS, milliGpus: 32_000 };
    const all = { startMs: 0, endMs: null, milliGpus: 32_000 };
    const capacity = capacityTime([[half], [all]], NOW, WINDOW_MS);
    expect(gpuHours(capacity)).toBe(9216);
    expect(gpuHours(allocatedTime(claimsOf(TREE).get('A1') ?? 0, capacity))).toEqual(near(3225.6));
  });

  test('6: x, y, z with weights 1, 1, 2 and use 40, 0, 80: y, then the older request of x and z', () => {
    const tree = treeOf([node('root', null, 1), node('x', 'root', 1), node('y', 'root', 1), node('z', 'root', 2)]);
    const use = hours({ x: 40, y: 0, z: 80 });
    const older = [
      request('z', { submittedMs: 1 }),
      request('x', { submittedMs: 2 }),
      request('y', { submittedMs: 3 }),
    ];
    expect(order(tree, use, older)).toEqual(['y', 'z', 'x']);
    expect(
      order(
        tree,
        use,
        older.map((one) => ({ ...one, submittedMs: 10 - one.submittedMs })),
      ),
    ).toEqual(['y', 'x', 'z']);
  });

  test('7: with committed time two equal budgets take turns', () => {
    const tree = treeOf([node('root', null, 1), node('x', 'root', 1), node('y', 'root', 1)]);
    const shape = { milliGpus: 8000, minRuntimeMs: 4 * HOUR_MS };
    const pending = ['x', 'x', 'x', 'y', 'y', 'y'].map((id) => request(id, shape));
    expect(order(tree, hours({ x: 4, y: 0 }), pending)).toEqual(['y', 'x', 'y', 'x', 'y', 'x']);
  });

  test('8: what is still protected counts: x used less and is promised more, so y is first', () => {
    const tree = treeOf([node('root', null, 1), node('x', 'root', 1), node('y', 'root', 1)]);
    const x = { milliGpus: 8000, startMs: NOW - 2 * HOUR_MS, minRuntimeMs: 24 * HOUR_MS };
    const y = { milliGpus: 8000, startMs: NOW - 10 * HOUR_MS, minRuntimeMs: 4 * HOUR_MS };
    const loads = new Map([
      ['x', fromGpuHours(16) + committedTime(x, NOW)],
      ['y', fromGpuHours(80) + committedTime(y, NOW)],
    ]);
    expect([...loads.values()].map(gpuHours)).toEqual([192, 80]);
    expect(order(tree, loads, [request('x'), request('y')])).toEqual(['y', 'x']);
  });

  test('9: 64 GPUs for 48 h are more than A2 has, the largest is 35.28 h; 32 GPUs are allowed', () => {
    const allocated = allocatedTime(claimsOf(TREE).get('A2') ?? 0, CAPACITY);
    const budget = { allocated, capMs: null };
    const refused = minRuntimeCap({ milliGpus: 64_000, minRuntimeMs: 48 * HOUR_MS }, budget);
    expect(refused.allowed).toBe(false);
    expect(refused.largestMs / HOUR_MS).toEqual(near(35.28));
    expect(minRuntimeCap({ milliGpus: 32_000, minRuntimeMs: 48 * HOUR_MS }, budget).allowed).toBe(true);
  });

  test("13: 8 GPUs parked for a week cost 1344 of A2's 2257.92, 59.5 %", () => {
    const parked = { startMs: NOW - WINDOW_MS, endMs: null, milliGpus: 8000 };
    const use = WindowUse.of(WINDOW_MS, NOW, [parked]).sum;
    expect(gpuHours(use)).toBe(1344);
    const allocated = allocatedTime(claimsOf(TREE).get('A2') ?? 0, CAPACITY);
    expect((use / allocated) * 100).toBeCloseTo(59.5, 1);
  });

  test('14: A3, unused, is first until its use is its allocated time: 47.04 h of 32 GPUs', () => {
    const allocated = allocatedTime(claimsOf(TREE).get('A3') ?? 0, CAPACITY);
    expect(allocated / 32_000 / HOUR_MS).toEqual(near(47.04));
  });

  test('15: the pyramid and the impact', () => {
    const parts = { total: 10_752, healthy: 10_214.4, assigned: 9703.68, used: 6792.576, allocatedOccupancy: 8500 };
    const leaves = [
      { use: 3000, allocated: 3763.2, demand: 3763.2 },
      { use: 2500, allocated: 2257.92, demand: 2257.92 },
      { use: 0, allocated: 1505.28, demand: 0 },
      { use: 3000, allocated: 3225.6, demand: 2600 },
    ];
    const { availability, occupancy, utilization, impact } = pyramid(parts, leaves);
    expect([availability, occupancy, utilization]).toEqual([0.95, 0.95, 0.7].map(near));
    expect(impact).toBeCloseTo(0.9115, 4);
  });
});

function near(value: number): unknown {
  return expect.closeTo(value, 6) as unknown;
}
