import { budgetReport } from '../../src/budgets/budget-report.js';
import { fromGpuHours, HOUR_MS } from '../../src/budgets/gpu-time.js';
import type { BudgetReport } from '../../src/contract/index.js';
import { factsOf } from '../budgets/report-facts-of.js';

const WEEK = 168 * HOUR_MS;
export const FROM = Date.parse('2026-11-23T00:00:00Z');

/** The week 2026-W48 on 64 GPUs, with one session that somebody called so as to break a page. */
export function sampleReport(budget = 'root', name = 'parked'): BudgetReport {
  const spread = (hours: number, part: readonly [number, number] = [0, 1]) => ({
    startMs: FROM + part[0] * WEEK,
    endMs: FROM + part[1] * WEEK,
    milliGpus: Math.round((hours * 1000) / (168 * (part[1] - part[0]))),
  });
  const session = { sessionId: 'ses_1', name, user: 'ann', project: 'lab/p', budgetId: 'A2' };
  const facts = factsOf({
    fromMs: FROM,
    untilMs: FROM + WEEK,
    total: [spread(10_752)],
    healthy: [spread(10_214.4)],
    held: [
      { ...spread(3000), budgetId: 'A1', kind: 'charged' },
      { ...spread(2500, [0, 0.8]), budgetId: 'A2', kind: 'charged' },
      { ...spread(3000, [0, 0.8]), budgetId: 'B', kind: 'charged' },
      { ...spread(900, [0.8, 1]), budgetId: null, kind: 'unallocated' },
      { ...spread(100, [0.9, 1]), budgetId: 'A1', kind: 'uncharged' },
    ],
    demand: [
      { budgetId: 'A1', ...spread(3763.2) },
      { budgetId: 'A2', ...spread(2257.92) },
      { budgetId: 'B', ...spread(2600) },
    ],
  });
  const starts = Array.from({ length: 60 }, (_, k) => ({
    budgetId: 'A1',
    minRuntimeMs: (k % 3) * HOUR_MS,
    sinceMs: FROM,
    startedMs: k === 7 ? null : FROM + (k * k + 5) * 1000,
  }));
  const attempt = {
    attempt: 2,
    startMs: FROM,
    endMs: FROM + HOUR_MS,
    minRuntimeMs: 4 * HOUR_MS,
    time: fromGpuHours(8),
  };
  const report = budgetReport(
    {
      ...facts,
      measured: [
        { budgetId: 'A2', measured: fromGpuHours(2000), used: fromGpuHours(1400) },
        { budgetId: 'B', measured: fromGpuHours(7000), used: fromGpuHours(4900) },
      ],
      starts,
      paid: [{ ...session, paid: fromGpuHours(96), measured: fromGpuHours(90), used: fromGpuHours(1) }],
      broken: [{ ...session, ...attempt }],
    },
    budget,
    { idleBelowPercent: 10 },
  );
  if (report === null) throw new Error(`no budget ${budget}`);
  return report;
}
