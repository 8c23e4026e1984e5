import { expect, test } from 'vitest';
import { reportFor } from '../../src/budgets/report-for.js';
import { sampleReport } from '../reports/sample-report.js';

const seesAll = { seesBudget: () => true, seesProject: () => true };

test('who may see everything is shown the report as it is', () => {
  expect(reportFor(sampleReport(), seesAll)).toEqual(sampleReport());
});

test('figures of the whole stay; branches that may not be seen are one, rows are left out', () => {
  const whole = sampleReport('A');
  const seen = reportFor(whole, { ...seesAll, seesBudget: (path) => path === 'A/A2' });
  expect(seen.waterfall).toEqual(whole.waterfall);
  expect(seen.branches).toEqual(['A/A2', 'others']);
  expect(seen.leaves.map(({ budget }) => budget)).toEqual(['A/A2']);
  for (const [index, { chargedByBranch }] of seen.periods.entries()) {
    const [a1 = 0, a2 = 0, a3 = 0] = whole.periods[index]?.chargedByBranch ?? [];
    expect(chargedByBranch).toEqual([a2, a1 + a3]);
  }
});

test('projects of others are not named', () => {
  expect(sampleReport().unallocated).toHaveLength(1);
  expect(reportFor(sampleReport(), { ...seesAll, seesProject: () => false }).unallocated).toEqual([]);
});
