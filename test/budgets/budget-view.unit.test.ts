import { expect, test } from 'vitest';
import type { BudgetFacts, LeafFacts } from '../../src/budgets/budget-facts.js';
import { budgetSight, budgetViews } from '../../src/budgets/budget-view.js';
import { fromGpuHours } from '../../src/budgets/gpu-time.js';
import { budgetSchema } from '../../src/contract/index.js';
import { factsOf, leaf, ROWS, row } from './rows.js';

const viewsOf = (facts: Partial<BudgetFacts>) => budgetViews(budgetSight(factsOf(facts)));
const byPath = (facts: Partial<BudgetFacts>) => new Map(viewsOf(facts).map((view) => [view.path, view]));
const hours = (seconds: number | undefined): number => Math.round((seconds ?? 0) / 36) / 100;

/** Example 2 of the spec: use A1 3000, A2 2500, B 3000, A3 0 GPU-h. */
const LEAVES: readonly LeafFacts[] = [
  leaf('a1', { use: fromGpuHours(3000), committed: fromGpuHours(100), runningMilliGpus: 16_000, openSessions: 2 }),
  leaf('a2', { use: fromGpuHours(2500), pendingMilliGpus: 8000, openSessions: 1 }),
  leaf('b', { use: fromGpuHours(3000), unallocatedUse: fromGpuHours(640) }),
];

test('claims and allocated time are those of example 1, the ratios those of example 2, summed up at each node', () => {
  const views = byPath({ leaves: LEAVES });
  const claims = ['root', 'a', 'a/a1', 'a/a2', 'a/a3', 'b'].map((path) => views.get(path)?.use.claim.toFixed(4));
  expect(claims).toEqual(['1.0000', '0.7000', '0.3500', '0.2100', '0.1400', '0.3000']);
  expect(hours(views.get('a/a2')?.use.allocatedGpuSeconds)).toBe(2257.92);
  const ratios = ['a', 'a/a1', 'a/a2', 'a/a3', 'b'].map((path) => views.get(path)?.use.ratio?.toFixed(4));
  expect(ratios).toEqual(['0.7308', '0.7972', '1.1072', '0.0000', '0.9301']);
  expect(views.get('a')?.use).toMatchObject({ runningGpus: 16, pendingGpus: 8 });
  expect(hours(views.get('root')?.use.usedGpuSeconds)).toBe(8500);
  expect(hours(views.get('a')?.use.committedGpuSeconds)).toBe(100);
  expect(views.get('a')?.use.expectedRatio?.toFixed(4)).toBe((5600 / 7526.4).toFixed(4));
  expect(hours(views.get('b')?.use.unallocatedGpuSeconds)).toBe(640);
});

test('unallocated use is no use', () => {
  const [free, none] = [640, 0].map((spent) =>
    byPath({ leaves: [leaf('b', { unallocatedUse: fromGpuHours(spent) })] }).get('b'),
  );
  expect(free?.use.ratio).toBe(none?.use.ratio);
});

test('what was charged to a closed budget stays charged above it, and its claim goes to its siblings', () => {
  const rows = ROWS.map((one) => (one.name === 'a1' ? { ...one, closedAt: '2026-11-29T00:00:00.000Z' } : one));
  const views = byPath({ rows, leaves: LEAVES });
  expect(hours(views.get('a')?.use.usedGpuSeconds)).toBe(5500);
  expect(views.get('a/a2')?.use.claim.toFixed(4)).toBe('0.4200');
  expect(views.get('a/a1')).toMatchObject({ state: 'closed', use: { claim: 0, ratio: null, expectedRatio: null } });
});

test('parents stand before children, siblings by name, closed ones last; only leaves are charged', () => {
  const rows = [...ROWS, row('aa', 'a', { closedAt: '2026-11-29T00:00:00.000Z' })];
  const views = viewsOf({ rows: rows.toReversed() });
  expect(views.map(({ path }) => path)).toEqual(['root', 'a', 'a/a1', 'a/a2', 'a/a3', 'a/aa', 'b']);
  expect(views.filter(({ isLeaf }) => isLeaf).map(({ path }) => path)).toEqual(['a/a1', 'a/a2', 'a/a3', 'a/aa', 'b']);
  for (const view of views) expect(budgetSchema.parse(view)).toEqual(view);
});

test('siblings that all have weight 0 claim nothing, and have no ratio', () => {
  const rows = [row('root', null), row('a', 'root', { weight: 0 }), row('b', 'root', { weight: 0 })];
  expect(byPath({ rows, leaves: [leaf('a', { use: 1 })] }).get('a')?.use).toMatchObject({ claim: 0, ratio: null });
});
