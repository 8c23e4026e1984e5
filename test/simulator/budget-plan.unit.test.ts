import { describe, expect, test } from 'vitest';
import { budgetReport } from '../../src/simulator/budget-figures.js';
import { underBudgets } from '../../src/simulator/job-terms.js';
import { UseLedger } from '../../src/simulator/use-ledger.js';
import { budgets, HOUR, job, nodes, runFairly } from './build.js';

const UNITS = 3.6e9;
/** The tree of the worked examples. */
const tree = {
  a: {
    weight: 70,
    budgets: { a1: { weight: 50, projects: ['p1'] }, a2: { weight: 30, projects: ['p2'] }, a3: { weight: 20 } },
  },
  b: { weight: 30, users: ['bob'] },
};
const plan = budgets([], { shapes: nodes(8), each: null, tree });
const idOf = (path: string): string => [...plan.paths].find(([, one]) => one === path)?.[0] ?? '';

test('claims and capacity are those of the worked example 1', () => {
  expect(plan.capacity / UNITS).toBe(10_752);
  const claims = ['a/a1', 'a/a2', 'a/a3', 'b'].map((path) => plan.claims.get(idOf(path)));
  expect(claims.map((claim) => (claim ?? 0) * 10_752)).toEqual([
    3763.2,
    2257.92,
    expect.closeTo(1505.28),
    expect.closeTo(3225.6),
  ]);
});

describe('a job', () => {
  test('is charged to the leaf of its user before that of its project, or to nothing', () => {
    const leaf = (user: string, project: string) => plan.paths.get(plan.leafOf({ user, project }) ?? '') ?? null;
    expect([leaf('ann', 'p1'), leaf('bob', 'p1'), leaf('ann', 'p3')]).toEqual(['a/a1', 'b', null]);
  });

  test('has its minimum runtime cut to what its leaf bears: worked example 9; without a leaf it has none', () => {
    const long = { gpus: 64, minRuntimeMs: 48 * HOUR, preemptible: false };
    const cut = underBudgets(
      [job('x', { ...long, project: 'p2' }), job('y', { ...long, gpus: 32, project: 'p2' }), job('z', long)],
      plan,
    );
    expect(cut.map(({ minRuntimeMs }) => minRuntimeMs / HOUR)).toEqual([expect.closeTo(35.28, 4), 48, 0]);
    expect(cut.every(({ preemptible }) => preemptible)).toBe(true);
  });
});

test.each([
  [{ tree: {} }, /the tree is empty/],
  [{ tree: { a: { projects: ['p'], budgets: { b: {} } } } }, /a has budgets below it: those are charged/],
  [{ tree: { a: { projects: ['p'] }, b: { projects: ['p'] } } }, /the project p stands under a and b/],
  [{ tree: { a: { weight: -1 } } }, /weight/],
])('budgets %j are refused', (given, message) => {
  expect(() => budgets([], { shapes: nodes(1), each: null, ...given })).toThrow(message);
});

test('the ledger of a run charges what was held within the window: worked example 3', () => {
  const ledger = new UseLedger(plan);
  const session = { budgetId: idOf('b'), projectId: 'p', minRuntimeSeconds: 60 } as Parameters<UseLedger['move']>[0];
  ledger.move(session, 0, 8000);
  ledger.move(session, 10 * HOUR, -8000);
  expect(ledger.useOf(idOf('b'), 170 * HOUR) / UNITS).toBe(64);
  const free = { ...session, budgetId: null, minRuntimeSeconds: 0 } as typeof session;
  ledger.move(free, 170 * HOUR, 64_000);
  const { leaves, projects } = ledger.snapshotAt(171 * HOUR);
  expect(leaves).toEqual([{ id: idOf('b'), use: 56 * UNITS, unallocatedUse: 0, committedElsewhere: 0 }]);
  expect(projects).toEqual([{ id: 'p', unallocatedUse: 64 * UNITS }]);
});

test('two equal budgets take turns by use and committed time: worked example 7', () => {
  const six = Array.from({ length: 6 }, (_, k) =>
    job(`${k % 2 === 0 ? 'x' : 'y'}${k}`, {
      ...{ project: k % 2 === 0 ? 'x' : 'y', gpus: 8, durationMs: 4 * HOUR, minRuntimeMs: 4 * HOUR },
      submittedMs: HOUR / 2,
    }),
  );
  const used = job('x', { project: 'x', gpus: 8, durationMs: HOUR / 2, minRuntimeMs: HOUR / 2 });
  const { outcomes } = runFairly([used, ...six], { nodes: nodes(1) });
  const order = outcomes.slice(1).toSorted((a, b) => (a.startedMs ?? 0) - (b.startedMs ?? 0));
  expect(order.map(({ job: { project } }) => project).join(' ')).toBe('y x y x y x');
});

test('a report adds up at every node, and tells the pyramid of a run that can be counted by hand', () => {
  const jobs = [
    job('one', { project: 'p1', gpus: 4, durationMs: 10 * HOUR, minRuntimeMs: HOUR }),
    job('parked', { project: 'p2', gpus: 2, durationMs: 20 * HOUR, minRuntimeMs: HOUR, parked: true }),
    job('free', { project: 'p3', gpus: 1, durationMs: 20 * HOUR }),
    job('last', { project: 'p1', submittedMs: 10 * HOUR }),
  ];
  const own = budgets(jobs, { shapes: nodes(1), each: null, tree });
  const { outcomes } = runFairly(jobs, { nodes: nodes(1), each: null, tree });
  const report = budgetReport(outcomes, own, ({ minRuntimeMs }) => minRuntimeMs > 0);
  expect(report.pyramid).toEqual({
    availability: 1,
    occupancy: 70 / 80,
    utilization: 50 / 70,
    impact: expect.closeTo((28 + 16.8) / (28 + 16.8), 9) as number,
    allocatedOfAssigned: 60 / 70,
  });
  expect(report.budgets.map(({ budget, usedGpuHours, jobs: count }) => [budget, usedGpuHours, count])).toEqual([
    ['root', 60, 3],
    ['a', 60, 3],
    ['a/a1', 40, 2],
    ['a/a2', 20, 1],
    ['a/a3', 0, 0],
    ['b', 0, 0],
  ]);
  expect(report.budgets[2]).toMatchObject({ allocatedGpuHours: 28, ratio: 40 / 28, impact: 1, lastWindow: null });
});
