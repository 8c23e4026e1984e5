import type { BrokenContract, BudgetReport } from '../contract/index.js';
import { firstGpuWaits } from './first-gpu.js';
import type { GpuTime } from './gpu-time.js';
import { paidIdle } from './paid-idle.js';
import { pyramid } from './pyramid.js';
import type { BrokenAttempt, ReportFacts } from './report-facts.js';
import { reportLeaves, sumOf } from './report-leaves.js';
import {
  addUp,
  assignedOf,
  claimsOfCells,
  gpuSeconds,
  type Parts,
  partsOfCells,
  shownParts,
  shownPeriods,
} from './report-parts.js';
import { type ReportScope, reportScope } from './report-scope.js';

/** The report on one budget and all below it; null when there is no such budget. Sources: budgets page, sections 5 and 6. */
export function budgetReport(
  facts: ReportFacts,
  budgetId: string,
  how: { readonly idleBelowPercent: number },
): BudgetReport | null {
  const scope = reportScope(facts, budgetId);
  if (scope === null) return null;
  const claims = claimsOfCells(facts);
  const cells = partsOfCells(facts, scope, claims);
  const parts = addUp(cells, scope.branches.length);
  const { leaves, impact } = reportLeaves(facts, scope, claims);
  const own = <Row extends { readonly budgetId: string | null }>(rows: readonly Row[]): readonly Row[] =>
    rows.filter((row) => scope.holds(row.budgetId));
  const use = measuredOf(own(facts.measured));
  return {
    budgetId: budgetId as BudgetReport['budgetId'],
    budget: scope.path,
    from: isoOf(facts.edgesMs[0]),
    until: isoOf(facts.edgesMs.at(-1)),
    groups: [...facts.groups],
    waterfall: {
      ...shownParts(parts),
      measuredGpuSeconds: gpuSeconds(use.measured),
      usedGpuSeconds: use.measured === 0 ? null : gpuSeconds(use.used),
    },
    pyramid: shownPyramid(parts, use, impact),
    leaves: [...leaves],
    branches: scope.branches.map(({ path }) => path),
    periods: [...shownPeriods(facts, cells, scope.branches.length)],
    waits: firstGpuWaits(own(facts.starts)),
    paidIdle: paidIdle(own(facts.paid), scope, {
      belowPercent: how.idleBelowPercent,
      isMeasured: use.measured > 0 || parts.charged === 0,
    }),
    brokenContracts: own(facts.broken)
      .toSorted((a, b) => b.endMs - a.endMs)
      .map((one) => brokenContract(one, scope)),
    unallocated: unallocatedUse(facts, scope),
  };
}

const isoOf = (ms: number | undefined): string => new Date(ms ?? 0).toISOString();

interface Use {
  readonly measured: GpuTime;
  readonly used: GpuTime;
}
const measuredOf = (rows: readonly Use[]): Use => ({
  measured: rows.reduce((total, { measured }) => total + measured, 0),
  used: rows.reduce((total, { used }) => total + used, 0),
});

function shownPyramid(parts: Parts, { measured, used }: Use, impact: number): BudgetReport['pyramid'] {
  const assigned = assignedOf(parts);
  const { total, healthy, charged: allocatedOccupancy } = parts;
  const metrics = pyramid({ total, healthy, assigned, measured, used, allocatedOccupancy }, []);
  return { ...metrics, impact, utilizationReason: reasonOf(measured, assigned) };
}

function reasonOf(measured: GpuTime, assigned: GpuTime): string | null {
  if (assigned === 0) return 'nothing was assigned';
  if (measured === 0) return 'not measured';
  return measured < assigned ? `measured in ${((100 * measured) / assigned).toFixed(1)} % of the assigned time` : null;
}

const brokenContract = (broken: BrokenAttempt, scope: ReportScope): BrokenContract => ({
  sessionId: broken.sessionId as BrokenContract['sessionId'],
  name: broken.name,
  user: broken.user,
  project: broken.project,
  budget: scope.pathOf(broken.budgetId),
  attempt: broken.attempt,
  at: isoOf(broken.endMs),
  promisedSeconds: broken.minRuntimeMs / 1000,
  ranSeconds: broken.startMs === null ? 0 : Math.max(0, broken.endMs - broken.startMs) / 1000,
  unchargedGpuSeconds: gpuSeconds(broken.time),
});

/** The most first: of budgets, and of projects for work without one. */
function unallocatedUse(facts: ReportFacts, scope: ReportScope): BudgetReport['unallocated'] {
  const ofBudgets = facts.leaves
    .filter(({ budgetId }) => scope.holds(budgetId))
    .map((leaf) => ({ budget: scope.pathOf(leaf.budgetId), project: null, time: sumOf(leaf.unallocated) }));
  const ofProjects = scope.holds(null)
    ? facts.projects.map(({ project, unallocated }) => ({ budget: null, project, time: sumOf(unallocated) }))
    : [];
  return [...ofBudgets, ...ofProjects]
    .filter(({ time }) => time > 0)
    .toSorted((a, b) => b.time - a.time)
    .map(({ time, ...account }) => ({ ...account, gpuSeconds: gpuSeconds(time) }));
}
