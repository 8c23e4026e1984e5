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

/**
 * A line of the history, which knows its budget by the path of its time: of foreign domains only what their children of the root
 * weigh, as the tree shows it. Where a name was used again, or what had it is elsewhere now, all who had it have to be one's own.
 */
export function maySeeChange(
  forest: BudgetForest,
  { budget, field }: Pick<BudgetChange, 'budget' | 'field'>,
  who: BudgetPerson,
): boolean {
  if (who.role === 'operator') return true;
  const [top] = budget.split('/');
  const bearers = forest.rows.filter(({ id, name }) => name === top && forest.depthOf(id) <= 1);
  if (bearers.length > 0 && bearers.every((row) => maySeePeople(forest, row, who))) return true;
  return !budget.includes('/') && ['weight', 'parent', 'closed'].includes(field);
}
