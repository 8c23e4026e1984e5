import type { BudgetReport } from '../contract/index.js';

/** Who reads a report, by what they may see: paths of budgets, projects as domain/project. */
export interface ReportSight {
  readonly seesBudget: (path: string) => boolean;
  readonly seesProject: (project: string) => boolean;
}

const OTHERS = 'others';

/** The report with figures of the whole, and without the names of what its reader may not see: their branches are one, their rows are left out. */
export function reportFor(report: BudgetReport, { seesBudget, seesProject }: ReportSight): BudgetReport {
  const hidden = report.branches.flatMap((path, index) => (seesBudget(path) ? [] : [index]));
  return {
    ...report,
    ...(hidden.length === 0 ? {} : mergedBranches(report, new Set(hidden))),
    leaves: report.leaves.filter(({ budget }) => seesBudget(budget)),
    unallocated: report.unallocated.filter(({ budget, project }) =>
      budget === null ? project !== null && seesProject(project) : seesBudget(budget),
    ),
  };
}

function mergedBranches(
  { branches, periods }: BudgetReport,
  hidden: ReadonlySet<number>,
): Pick<BudgetReport, 'branches' | 'periods'> {
  const shown = <Item>(items: readonly Item[]): readonly Item[] => items.filter((_, index) => !hidden.has(index));
  const rest = (times: readonly number[]): number =>
    times.reduce((total, time, index) => total + (hidden.has(index) ? time : 0), 0);
  return {
    branches: [...shown(branches), OTHERS],
    periods: periods.map((period) => ({
      ...period,
      chargedByBranch: [...shown(period.chargedByBranch), rest(period.chargedByBranch)],
    })),
  };
}
