import type { BudgetRow } from '../budgets/budget-facts.js';
import { type BudgetForest, forestOf, isOpen } from '../budgets/budget-forest.js';
import { budgetReport } from '../budgets/budget-report.js';
import { changesOf } from '../budgets/claims-over-time.js';
import type { AccountTimes, CellTimes, ReportFacts } from '../budgets/report-facts.js';
import { reportGrid } from '../budgets/report-grid.js';
import type { BudgetReport, Principal } from '../contract/index.js';
import type { ReportPeriodRead } from '../store/report-store.js';
import type { Store } from '../store/store.js';

/** At most that many cells are summed by one statement. */
const CELLS_MAX = 300;

export interface ReportWish extends ReportPeriodRead {
  readonly budgetId: string;
  /** All budgets there are, closed ones too. */
  readonly rows: readonly BudgetRow[];
  readonly idleBelowPercent: number;
  /** Whose sight bounds the lists of sessions; null: all of them. */
  readonly viewer: Principal | null;
}

/** Reads what a report is made from and has it worked out. Each part is one consistent view; they are read milliseconds apart. */
export async function readReport(
  store: Pick<Store, 'budgets' | 'reports'>,
  wish: ReportWish,
): Promise<BudgetReport | null> {
  const { fromMs, untilMs, viewer, idleBelowPercent } = wish;
  const period = { fromMs, untilMs };
  const versions = await store.budgets.versions(fromMs);
  const grid = reportGrid(period, changesOf(versions));
  const [times, groups, starts, measured, paid, broken] = await Promise.all([
    cellTimes(store, grid.edgesMs),
    store.reports.fairShareGroups(),
    store.reports.firstStarts(period),
    store.reports.measured(period),
    store.reports.paidIdle(period, { belowPercent: idleBelowPercent, viewer }),
    store.reports.broken(period, viewer),
  ]);
  const budgets = budgetsOf(forestOf(wish.rows));
  const facts: ReportFacts = { ...grid, ...times, groups, budgets, versions, measured, starts, paid, broken };
  return budgetReport(facts, wish.budgetId, { idleBelowPercent });
}

const budgetsOf = ({ rows, pathOf }: BudgetForest): ReportFacts['budgets'] =>
  rows.map((row) => ({ id: row.id, path: pathOf(row.id), parentId: row.parentId, isOpen: isOpen(row) }));

type Times = Pick<ReportFacts, 'total' | 'healthy' | 'leaves' | 'projects'>;

async function cellTimes(
  { budgets, reports }: Pick<Store, 'budgets' | 'reports'>,
  edgesMs: readonly number[],
): Promise<Times> {
  const pieces: Times[] = [];
  for (let at = 0; at < edgesMs.length - 1; at += CELLS_MAX) {
    const edges = edgesMs.slice(at, at + CELLS_MAX + 1);
    const { total, healthy, leaves, projects } = await budgets.periods(edges);
    const paths = await reports.projectPaths(projects.map(({ projectId }) => projectId));
    const named = projects.map(({ projectId, ...times }) => ({ project: paths.get(projectId) ?? projectId, ...times }));
    pieces.push({ total, healthy, leaves, projects: named });
  }
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : joined(pieces);
}

/** Stretches of cells one after the other; who has nothing in one of them has zeros there. */
function joined(pieces: readonly Times[]): Times {
  const line = (of: (piece: Times) => CellTimes | undefined): CellTimes =>
    pieces.flatMap((piece) => of(piece) ?? piece.total.map(() => 0));
  const account = (of: (piece: Times) => AccountTimes | undefined): AccountTimes => ({
    charged: line((piece) => of(piece)?.charged),
    unallocated: line((piece) => of(piece)?.unallocated),
    uncharged: line((piece) => of(piece)?.uncharged),
  });
  const ids = new Set(pieces.flatMap(({ leaves }) => leaves.map(({ budgetId }) => budgetId)));
  const names = new Set(pieces.flatMap(({ projects }) => projects.map(({ project }) => project)));
  const leafIn = (piece: Times, id: string) => piece.leaves.find(({ budgetId }) => budgetId === id);
  return {
    total: line(({ total }) => total),
    healthy: line(({ healthy }) => healthy),
    leaves: [...ids].map((id) => ({
      budgetId: id,
      ...account((piece) => leafIn(piece, id)),
      demand: line((piece) => leafIn(piece, id)?.demand),
    })),
    projects: [...names].map((name) => ({
      project: name,
      ...account((piece) => piece.projects.find(({ project }) => project === name)),
    })),
  };
}
