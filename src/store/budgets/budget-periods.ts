import type { BudgetId } from '../../contract/index.js';

/** One number a cell: thousandths of a GPU (× factor) × ms between two neighbouring edges. Integers, exact to the ms. */
export type CellTimes = readonly number[];

/**
 * Occupancy (assignment to return) of one account: charged, used for nothing (unallocated), and what the platform failed or
 * broke, which is charged to nobody. Their sum is what was assigned to it.
 */
export interface AccountTimes {
  readonly charged: CellTimes;
  readonly unallocated: CellTimes;
  readonly uncharged: CellTimes;
}

/** Of one budget, by what it was booked to: a budget that was closed since, or has others below it now, keeps its own. */
export interface LeafTimes extends AccountTimes {
  readonly budgetId: BudgetId;
  /** D: allocated work of it that was pending and eligible (its reason was no hold), or held its room. */
  readonly demand: CellTimes;
}

/** A budget as it stood from `sinceMs` until `untilMs` (null: still). A closed one has none. */
export interface BudgetVersionRow {
  readonly budgetId: BudgetId;
  readonly parentId: BudgetId | null;
  readonly weight: number;
  readonly sinceMs: number;
  readonly untilMs: number | null;
}

/** All of the groups that order by fair share, of one consistent view. What would lie after `atMs` is 0. */
export interface BudgetPeriods {
  readonly atMs: number;
  /** Only those that have anything in these cells. */
  readonly leaves: readonly LeafTimes[];
  /** Unallocated work of sessions without a budget, by project id. */
  readonly projects: readonly (AccountTimes & { readonly projectId: string })[];
  /** GPUs × factor that were there, and those of them that were healthy. As recorded: a young node counts from when it came. */
  readonly total: CellTimes;
  readonly healthy: CellTimes;
  /** All of the leaves and projects together. */
  readonly assigned: CellTimes;
}

/** What was used over time, for reports. */
export interface BudgetPeriodReads {
  /** Cells are [edge, next edge); edges ascend, ms since 1970, at most 400. Hours on the hour are cheapest. */
  periods(edgesMs: readonly number[]): Promise<BudgetPeriods>;
  /** How the tree stood, oldest first; those that ended before `fromMs` are left out. */
  versions(fromMs: number): Promise<readonly BudgetVersionRow[]>;
}
