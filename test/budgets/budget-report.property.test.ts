import fc from 'fast-check';
import { expect, test } from 'vitest';
import { budgetReport } from '../../src/budgets/budget-report.js';
import type { BudgetVersion } from '../../src/budgets/claims-over-time.js';
import type { BudgetReport } from '../../src/contract/index.js';
import { factsOf, type Held, type History, type OccupancyKind, VERSIONS } from './report-facts-of.js';

const RUNS = Number(process.env['BERTH_PROPERTY_RUNS'] ?? 200);
const FROM = 1_700_000_000_000;
const KINDS: readonly OccupancyKind[] = ['charged', 'unallocated', 'uncharged'];
const GPUS = 16;

interface Span {
  readonly gpu: number;
  readonly startMs: number;
  readonly lengthMs: number;
  readonly budget: string | null;
  readonly kind: number;
  readonly running: boolean;
}
const spans = fc.array(
  fc.record({
    gpu: fc.nat(GPUS - 1),
    startMs: fc.integer({ min: -2_000_000, max: 9_000_000 }),
    lengthMs: fc.integer({ min: 1, max: 5_000_000 }),
    budget: fc.constantFrom('A1', 'A2', 'A3', 'B', null),
    kind: fc.nat(2),
    running: fc.boolean(),
  }),
  { maxLength: 60 },
);

/** Of each GPU one holder at a time, as the ledger has it; a charge has a budget. */
function heldBy(list: readonly Span[]): readonly Held[] {
  const freeFrom = new Map<number, number>();
  return list
    .toSorted((a, b) => a.startMs - b.startMs)
    .map(({ gpu, startMs, lengthMs, budget, kind, running }): Held => {
      const from = Math.max(startMs, freeFrom.get(gpu) ?? Number.NEGATIVE_INFINITY);
      freeFrom.set(gpu, running ? Number.MAX_SAFE_INTEGER : from + lengthMs);
      const endMs = running ? null : from + lengthMs;
      const what = KINDS[budget === null && kind === 0 ? 1 : kind] ?? 'unallocated';
      return {
        startMs: FROM + from,
        endMs: endMs === null ? null : FROM + endMs,
        milliGpus: 1000,
        budgetId: budget,
        kind: what,
      };
    })
    .filter(({ startMs }) => startMs < FROM + 1e9);
}

const history = fc
  .record({
    list: spans,
    spanMs: fc.integer({ min: 1000, max: 8_000_000 }),
    broken: fc.integer({ min: 0, max: 8_000_000 }),
    reweighed: fc.integer({ min: 1, max: 8_000_000 }),
    weight: fc.nat(100),
  })
  .map(({ list, spanMs, broken, reweighed, weight }): History => {
    const held = heldBy(list);
    const at = FROM + reweighed;
    const versions: readonly BudgetVersion[] = [
      ...VERSIONS.map((one) => (one.budgetId === 'A2' ? { ...one, untilMs: at } : one)),
      { budgetId: 'A2', parentId: 'A', weight, sinceMs: at, untilMs: null },
    ];
    // Four GPUs that nobody holds may break.
    const four = { startMs: 0, endMs: null, milliGpus: 4000 };
    const all = { startMs: 0, endMs: null, milliGpus: GPUS * 1000 };
    return {
      fromMs: FROM,
      untilMs: FROM + spanMs,
      total: [all, four],
      healthy: [all, { ...four, endMs: FROM + broken }],
      held,
      demand: held.flatMap((one) =>
        one.kind === 'charged' && one.budgetId !== null ? [{ ...one, budgetId: one.budgetId }] : [],
      ),
      versions,
    };
  });

const of = (facts: History, budget: string): BudgetReport => {
  const report = budgetReport(factsOf(facts), budget, { idleBelowPercent: 10 });
  if (report === null) throw new Error(`no ${budget}`);
  return report;
};
const close = (a: number, b: number): void => expect(Math.abs(a - b)).toBeLessThan(1e-6 * Math.max(1, Math.abs(b)));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const PARTS = [
  'totalGpuSeconds',
  'healthyGpuSeconds',
  'assignedGpuSeconds',
  'chargedGpuSeconds',
  'unallocatedGpuSeconds',
  'unchargedGpuSeconds',
] as const;

test('parts never exceed their wholes, and what is assigned is charged, unallocated or not charged', () => {
  fc.assert(
    fc.property(history, (given) => {
      const { waterfall: whole, pyramid, leaves } = of(given, 'root');
      expect(whole.healthyGpuSeconds).toBeLessThanOrEqual(whole.totalGpuSeconds);
      expect(whole.assignedGpuSeconds).toBeLessThanOrEqual(whole.healthyGpuSeconds);
      close(
        whole.chargedGpuSeconds + whole.unallocatedGpuSeconds + whole.unchargedGpuSeconds,
        whole.assignedGpuSeconds,
      );
      for (const part of [pyramid.availability, pyramid.occupancy, pyramid.impact, pyramid.allocatedOfAssigned]) {
        expect(part ?? 0).toBeGreaterThanOrEqual(0);
        expect(part ?? 0).toBeLessThanOrEqual(1);
      }
      for (const leaf of leaves) {
        expect(leaf.servedGpuSeconds).toBeLessThanOrEqual(
          Math.min(leaf.usedGpuSeconds, leaf.allocatedGpuSeconds, leaf.demandGpuSeconds),
        );
      }
    }),
    { numRuns: RUNS },
  );
});

test('the parts of the period add up to it, at every node of the tree', () => {
  fc.assert(
    fc.property(history, fc.constantFrom('root', 'A', 'A2', 'B'), (given, budget) => {
      const { waterfall, periods } = of(given, budget);
      for (const part of PARTS) close(sum(periods.map((one) => one[part])), waterfall[part]);
      for (const { chargedByBranch, chargedGpuSeconds } of periods) close(sum(chargedByBranch), chargedGpuSeconds);
    }),
    { numRuns: RUNS },
  );
});

test('two periods that meet add up to the whole one', () => {
  fc.assert(
    fc.property(history, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (given, share) => {
      const cut = given.fromMs + Math.max(1, Math.floor((given.untilMs - given.fromMs) * share));
      const [first, second, whole] = [{ ...given, untilMs: cut }, { ...given, fromMs: cut }, given].map((one) =>
        of(one, 'A'),
      );
      for (const part of PARTS) {
        close((first?.waterfall[part] ?? 0) + (second?.waterfall[part] ?? 0), whole?.waterfall[part] ?? 0);
      }
    }),
    { numRuns: RUNS },
  );
});

test('a budget’s charged and allocated time is the sum of its children’s, and the root has what no budget has', () => {
  fc.assert(
    fc.property(history, (given) => {
      const reports = ['root', 'A', 'A1', 'A2', 'A3', 'B'].map((budget) => [budget, of(given, budget)] as const);
      const by = new Map(reports);
      const figure = (budget: string, part: (typeof PARTS)[number]): number => by.get(budget)?.waterfall[part] ?? 0;
      for (const part of ['chargedGpuSeconds', 'unchargedGpuSeconds', 'unallocatedGpuSeconds'] as const) {
        close(sum(['A1', 'A2', 'A3'].map((child) => figure(child, part))), figure('A', part));
        expect(figure('A', part) + figure('B', part)).toBeLessThanOrEqual(figure('root', part) + 1e-6);
      }
      close(figure('A', 'chargedGpuSeconds') + figure('B', 'chargedGpuSeconds'), figure('root', 'chargedGpuSeconds'));
      close(
        sum((by.get('root')?.leaves ?? []).map(({ allocatedGpuSeconds }) => allocatedGpuSeconds)),
        figure('root', 'healthyGpuSeconds'),
      );
    }),
    { numRuns: RUNS },
  );
});
