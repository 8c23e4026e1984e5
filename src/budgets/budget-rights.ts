import type { BudgetChange, Principal } from '../contract/index.js';
import type { BudgetRow } from './budget-facts.js';
import { type BudgetForest, isRoot } from './budget-forest.js';

export type BudgetPerson = Pick<Principal, 'userId' | 'role' | 'domainId'>;

const isManager = (row: BudgetRow, { userId }: BudgetPerson): boolean => row.managers.some(({ id }) => id === userId);

/**
 * Whether a person rules over what is below a budget: operators everywhere, its managers and those of the budgets above it,
 * and a domain's admin from the children of the root on, within its domain.
 */
export function managesBelow(forest: BudgetForest, row: BudgetRow, who: BudgetPerson): boolean {
  if (who.role === 'operator') return true;
  if (who.role === 'domain-admin' && !isRoot(row) && row.domainId === who.domainId) return true;
  return forest.lineOf(row.id).some((above) => isManager(above, who));
}

/** A budget's own weight, cap, parent and people are set by those who rule over what is below its parent. */
export function mayChange(forest: BudgetForest, row: BudgetRow, who: BudgetPerson): boolean {
  const parent = forest.byId.get(row.parentId ?? '');
  return parent === undefined ? who.role === 'operator' : managesBelow(forest, parent, who);
}

/** The root and its children are for everybody, since all shares follow from them; below it one's own domain. */
export function maySee(forest: BudgetForest, row: BudgetRow, who: BudgetPerson): boolean {
  if (forest.depthOf(row.id) <= 1) return true;
  return row.domainId === who.domainId || managesBelow(forest, row, who);
}

/** Whether it may be told who may charge it and who manages it. */
export const maySeePeople = (forest: BudgetForest, row: BudgetRow, who: BudgetPerson): boolean =>
  row.domainId === who.domainId || managesBelow(forest, row, who);

/** Of the history what a person may see. */
export interface ChangeSight {
  /** All lines of budgets whose path begins with one of these. */
  readonly tops: readonly string[];
  /** Of other children of the root the lines of these fields. */
  readonly openFields: readonly BudgetChange['field'][];
}

/**
 * A line of the history knows its budget by the path of its time: of foreign domains only what their children of the root
 * weigh is seen, as the tree shows it. Where a name was used again, or what had it is elsewhere now, all who had it have to be
 * one's own. null: all of it.
 */
export function changeSight(forest: BudgetForest, who: BudgetPerson): ChangeSight | null {
  if (who.role === 'operator') return null;
  const bearers = forest.rows.filter(({ id }) => forest.depthOf(id) <= 1);
  const foreign = new Set(bearers.filter((row) => !maySeePeople(forest, row, who)).map(({ name }) => name));
  const tops = [...new Set(bearers.map(({ name }) => name))].filter((name) => !foreign.has(name));
  return { tops, openFields: ['weight', 'parent', 'closed'] };
}
