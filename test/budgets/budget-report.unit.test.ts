import { describe, expect, test } from 'vitest';
import { budgetReport } from '../../src/budgets/budget-report.js';
import { fromGpuHours, HOUR_MS } from '../../src/budgets/gpu-time.js';
import type { FirstStart, PaidSession, ReportFacts } from '../../src/budgets/report-facts.js';
import { reportGrid } from '../../src/budgets/report-grid.js';
import type { BudgetReport } from '../../src/contract/index.js';
import { factsOf, type Held, type History, VERSIONS } from './report-facts-of.js';

const WEEK = 168 * HOUR_MS;
const FROM = 10 * WEEK;
const UNTIL = FROM + WEEK;

/** So many GPU-hours, spread over the week. */
const spread = (hours: number) => ({ startMs: FROM, endMs: UNTIL, milliGpus: Math.round((hours * 1000) / 168) });
const charged = (budgetId: string, hours: number): Held => ({ ...spread(hours), budgetId, kind: 'charged' });
const hours = (gpuSeconds: number | null): number => Number(((gpuSeconds ?? Number.NaN) / 3600).toFixed(1));

const EXAMPLE: History = {
  fromMs: FROM,
  untilMs: UNTIL,
  total: [spread(10_752)],
  healthy: [spread(10_214.4)],
  held: [
    charged('A1', 3000),
    charged('A2', 2500),
    charged('B', 3000),
    { ...spread(1203.68), budgetId: null, kind: 'unallocated' },
  ],
  demand: [
    { budgetId: 'A1', ...spread(3763.2) },
    { budgetId: 'A2', ...spread(2257.92) },
    { budgetId: 'B', ...spread(2600) },
  ],
};

function report(facts: ReportFacts, budget = 'root'): BudgetReport {
  const made = budgetReport(facts, budget, { idleBelowPercent: 10 });
  if (made === null) throw new Error('no such budget');
  return made;
}

describe('the report on a week', () => {
  const used = fromGpuHours(6792.576);
  const facts: ReportFacts = {
    ...factsOf(EXAMPLE),
    measured: [{ budgetId: 'A1', measured: fromGpuHours(9703.68), used }],
  };

  test('shows the waterfall and the four metrics of the pyramid', () => {
    const { waterfall, pyramid } = report(facts);
    const { totalGpuSeconds, healthyGpuSeconds, assignedGpuSeconds, chargedGpuSeconds, usedGpuSeconds } = waterfall;
    const shown = [totalGpuSeconds, healthyGpuSeconds, assignedGpuSeconds, chargedGpuSeconds, usedGpuSeconds];
    expect(shown.map(hours)).toEqual([10_752, 10_214.4, 9703.7, 8500, 6792.6]);
    expect([pyramid.availability, pyramid.occupancy, pyramid.utilization, pyramid.allocatedOfAssigned]).toEqual(
      [0.95, 0.95, 0.7, 8500 / 9703.68].map((value) => near(value)),
    );
  });

  test('takes each leaf’s allocated time of the time that was healthy: example 15 with A as 95 % of it', () => {
    const { leaves, pyramid } = report(facts);
    expect(leaves.map(({ budget, allocatedGpuSeconds }) => [budget, hours(allocatedGpuSeconds)])).toEqual([
      ['A/A1', 3575],
      ['A/A2', 2145],
      ['A/A3', 1430],
      ['B', 3064.3],
    ]);
    expect(pyramid.impact).toBeCloseTo((3000 + 2145.02 + 0 + 2600) / (3575.04 + 2145.02 + 2600), 3);
  });

  test('with all healthy its impact is .9115, as example 15 says', () => {
    const { leaves, pyramid } = report(factsOf({ ...EXAMPLE, healthy: [spread(10_752)] }));
    expect(leaves.map(({ servedGpuSeconds }) => hours(servedGpuSeconds))).toEqual([3000, 2257.9, 0, 2600]);
    expect(pyramid.impact).toBeCloseTo(0.9115, 4);
  });

  test('on a branch speaks of its claim of the cluster, and of its own leaves', () => {
    const { waterfall, leaves, pyramid, branches } = report(facts, 'A');
    expect([waterfall.totalGpuSeconds, waterfall.healthyGpuSeconds].map(hours)).toEqual([7526.4, 7150.1]);
    expect([waterfall.assignedGpuSeconds, waterfall.unallocatedGpuSeconds].map(hours)).toEqual([5500, 0]);
    expect(leaves.map(({ budget }) => budget)).toEqual(['A/A1', 'A/A2', 'A/A3']);
    expect(branches).toEqual(['A/A1', 'A/A2', 'A/A3']);
    expect(pyramid.occupancy).toBeCloseTo(5500 / 7150.08, 4);
    expect(report(facts, 'B')).toMatchObject({ branches: ['B'], budget: 'B' });
  });

  test('is cut in parts of a round width', () => {
    const { periods, branches } = report(facts);
    expect(branches).toEqual(['A', 'B']);
    expect(periods).toHaveLength(56);
    expect(periods.map(({ chargedByBranch }) => chargedByBranch.map(hours))[7]).toEqual([98.2, 53.6]);
  });

  test('says “not measured” rather than a number', () => {
    const { pyramid, waterfall, paidIdle } = report(factsOf(EXAMPLE));
    expect(pyramid).toMatchObject({ utilization: null, utilizationReason: 'not measured' });
    expect(waterfall.usedGpuSeconds).toBeNull();
    expect(paidIdle).toMatchObject({ reason: 'not measured', sessions: [] });
  });

  test('speaks of measured time only, and says how much that is', () => {
    const half = { budgetId: null, measured: fromGpuHours(4851.84), used: fromGpuHours(2425.92) };
    const { pyramid } = report({ ...factsOf(EXAMPLE), measured: [half] });
    expect(pyramid.utilization).toBeCloseTo(0.5, 6);
    expect(pyramid.utilizationReason).toBe('measured in 50.0 % of the assigned time');
  });

  test('lists unallocated use by budget and project', () => {
    const [one, ...others] = report(facts).unallocated;
    expect(one).toMatchObject({ budget: null, project: 'lab/p' });
    expect([hours(one?.gpuSeconds ?? 0), others]).toEqual([1203.7, []]);
  });
});

describe('claims over time', () => {
  test('a weight that changed counts from its change on', () => {
    const middle = FROM + WEEK / 2;
    const versions = [
      ...VERSIONS.filter(({ budgetId }) => budgetId !== 'B'),
      { budgetId: 'B', parentId: 'root', weight: 30, sinceMs: 0, untilMs: middle },
      { budgetId: 'B', parentId: 'root', weight: 210, sinceMs: middle, untilMs: null },
    ];
    const { leaves } = report(factsOf({ ...EXAMPLE, healthy: [spread(10_752)], versions }));
    const allocated = new Map(leaves.map(({ budget, allocatedGpuSeconds }) => [budget, allocatedGpuSeconds]));
    expect(hours(allocated.get('B') ?? 0)).toBe(hours((10_752 * (0.3 + 0.75) * 3600) / 2));
  });

  test('a closed budget claims nothing after its close, and keeps what was charged', () => {
    const middle = FROM + WEEK / 2;
    const versions = VERSIONS.map((one) => (one.budgetId === 'B' ? { ...one, untilMs: middle } : one));
    const { leaves } = report(factsOf({ ...EXAMPLE, healthy: [spread(10_752)], versions }));
    const closed = leaves.find(({ budget }) => budget === 'B');
    expect(closed).toMatchObject({ state: 'closed', claim: 0 });
    expect([closed?.allocatedGpuSeconds ?? 0, closed?.usedGpuSeconds ?? 0].map(hours)).toEqual([1612.8, 3000]);
  });

  test('a budget that had none below it for a while, and of which nobody asked, is no row', () => {
    const later = VERSIONS.map((one) => (one.parentId === 'A' ? { ...one, sinceMs: FROM + WEEK / 2 } : one));
    const { leaves } = report(factsOf({ ...EXAMPLE, versions: later }));
    expect(leaves.map(({ budget }) => budget)).toEqual(['A/A1', 'A/A2', 'A/A3', 'B']);
  });
});

describe('waits for the first GPU', () => {
  const start = (minRuntimeMs: number, waitMs: number | null): FirstStart => ({
    budgetId: 'A1',
    minRuntimeMs,
    sinceMs: FROM,
    startedMs: waitMs === null ? null : FROM + waitMs,
  });
  const starts = [
    ...Array.from({ length: 20 }, (_, k) => start(HOUR_MS, (k + 1) * 1000)),
    start(0, 60_000),
    start(HOUR_MS + 1, 7_200_000),
    start(HOUR_MS, null),
  ];
  test('are told for m ≤ 1 h by median and p95, who waits still beside them', () => {
    const { waits } = report({ ...factsOf(EXAMPLE), starts });
    const figures = waits.map(({ class: name, started, medianSeconds, p95Seconds, waiting }) => [
      name,
      started,
      medianSeconds,
      p95Seconds,
      waiting,
    ]);
    expect(figures).toEqual([
      ['short', 21, 11, 20, 1],
      ['short-charged', 20, 10, 19, 1],
      ['unallocated', 1, 60, 60, 0],
      ['long', 1, 7200, 7200, 0],
    ]);
  });
});

describe('paid and idle', () => {
  const paid = (name: string, [paidHours, measured, used]: readonly [number, number, number]): PaidSession => ({
    sessionId: `ses_${name}`,
    name,
    user: 'ann',
    project: 'lab/p',
    budgetId: 'A2',
    paid: fromGpuHours(paidHours),
    measured: fromGpuHours(measured),
    used: fromGpuHours(used),
  });
  test('names whose use was below the threshold, the most idle first; what was not measured is not called idle', () => {
    const sessions = [
      paid('busy', [100, 100, 90]),
      paid('on-the-line', [100, 100, 10]),
      paid('parked', [96, 48, 0]),
      paid('nearly', [60, 60, 5]),
      paid('unknown', [50, 0, 0]),
    ];
    const measured = [{ budgetId: 'A2', measured: fromGpuHours(300), used: fromGpuHours(100) }];
    const { paidIdle } = report({ ...factsOf(EXAMPLE), measured, paid: sessions });
    expect(paidIdle.sessions.map(({ name, budget, idleGpuSeconds }) => [name, budget, hours(idleGpuSeconds)])).toEqual([
      ['nearly', 'A/A2', 55],
      ['parked', 'A/A2', 48],
    ]);
    expect([paidIdle.paidGpuSeconds, paidIdle.idleGpuSeconds].map(hours)).toEqual([156, 103]);
  });
  test('says so when nothing was measured', () => {
    const { paidIdle } = report({ ...factsOf(EXAMPLE), paid: [paid('unknown', [50, 0, 0])] });
    expect(paidIdle).toMatchObject({ reason: 'not measured', sessions: [] });
  });
});

test('a broken contract is listed with what it had been promised', () => {
  const session = { sessionId: 'ses_a', name: 'train', user: 'ann', project: 'lab/p', budgetId: 'A1' };
  const attempt = {
    attempt: 2,
    startMs: FROM,
    endMs: FROM + HOUR_MS,
    minRuntimeMs: 4 * HOUR_MS,
    time: fromGpuHours(8),
  };
  const facts = { ...factsOf(EXAMPLE), broken: [{ ...session, ...attempt }] };
  expect(report(facts).brokenContracts).toMatchObject([
    { budget: 'A/A1', attempt: 2, promisedSeconds: 14_400, ranSeconds: 3600, unchargedGpuSeconds: 28_800 },
  ]);
  expect(report(facts, 'B').brokenContracts).toEqual([]);
});

test.each([
  ['a minute', 60_000, 60],
  ['two minutes and a half', 150_000, 30],
  ['a day', 24 * HOUR_MS, 48],
  ['a week', WEEK, 56],
  ['a year', 365 * 24 * HOUR_MS, 53],
])('%s is shown in at most 60 parts of a round width', (_title, spanMs, parts) => {
  const { periodEdgesMs } = reportGrid({ fromMs: FROM, untilMs: FROM + spanMs }, []);
  expect(periodEdgesMs.length - 1).toBe(parts);
});

function near(value: number): unknown {
  return expect.closeTo(value, 5) as unknown;
}
