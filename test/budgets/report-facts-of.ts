import type { BudgetVersion } from '../../src/budgets/claims-over-time.js';
import { changesOf } from '../../src/budgets/claims-over-time.js';
import type { ReportFacts } from '../../src/budgets/report-facts.js';
import { reportGrid } from '../../src/budgets/report-grid.js';
import { integrate, type Rate } from './integrate.js';

export type OccupancyKind = 'charged' | 'unallocated' | 'uncharged';
export interface Held extends Rate {
  readonly budgetId: string | null;
  readonly kind: OccupancyKind;
}
export interface History {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly total: readonly Rate[];
  readonly healthy: readonly Rate[];
  readonly held: readonly Held[];
  readonly demand: readonly (Rate & { readonly budgetId: string })[];
  readonly versions?: readonly BudgetVersion[];
}

/** root > A (70: A1 50, A2 30, A3 20), B (30), from the beginning of time. */
export const VERSIONS: readonly BudgetVersion[] = [
  ['root', null, 1] as const,
  ['A', 'root', 70] as const,
  ['A1', 'A', 50] as const,
  ['A2', 'A', 30] as const,
  ['A3', 'A', 20] as const,
  ['B', 'root', 30] as const,
].map(([budgetId, parentId, weight]) => ({ budgetId, parentId, weight, sinceMs: 0, untilMs: null }));

const PATHS: Readonly<Record<string, string>> = { A1: 'A/A1', A2: 'A/A2', A3: 'A/A3' };

/** What the store would read of such a history. */
export function factsOf(history: History): ReportFacts {
  const versions = history.versions ?? VERSIONS;
  const { edgesMs, periodEdgesMs } = reportGrid(history, changesOf(versions));
  const latest = new Map(versions.map((version) => [version.budgetId, version]));
  const times = (budgetId: string | null, kind: OccupancyKind) =>
    integrate(
      edgesMs,
      history.held.filter((one) => one.budgetId === budgetId && one.kind === kind),
    );
  const accounts = [...latest.keys()].filter((id) =>
    [...history.held, ...history.demand].some(({ budgetId }) => budgetId === id),
  );
  const account = (budgetId: string | null) => ({
    charged: times(budgetId, 'charged'),
    unallocated: times(budgetId, 'unallocated'),
    uncharged: times(budgetId, 'uncharged'),
  });
  return {
    edgesMs,
    periodEdgesMs,
    groups: ['default'],
    budgets: [...latest.values()].map(({ budgetId: id, parentId, untilMs }) => ({
      id,
      path: PATHS[id] ?? id,
      parentId,
      isOpen: untilMs === null,
    })),
    versions,
    total: integrate(edgesMs, history.total),
    healthy: integrate(edgesMs, history.healthy),
    leaves: accounts.map((budgetId) => ({
      budgetId,
      ...account(budgetId),
      demand: integrate(
        edgesMs,
        history.demand.filter((one) => one.budgetId === budgetId),
      ),
    })),
    projects: [{ project: 'lab/p', ...account(null) }],
    measured: [],
    starts: [],
    paid: [],
    broken: [],
  };
}
