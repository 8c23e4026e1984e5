import type { Budget } from '../contract/index.js';
import { BUDGET_FIGURES } from './budget-columns.js';
import { formatSeconds } from './format-amounts.js';
import { type Column, renderTable } from './table.js';

interface Branch {
  readonly label: string;
  readonly budget: Budget;
}

/** `├─` and `└─` before each name; parents come before their children, as the API lists them. */
export function branchesOf(budgets: readonly Budget[]): readonly Branch[] {
  const top = budgets.reduce((least, { depth }) => Math.min(least, depth), Number.POSITIVE_INFINITY);
  const isLast = (index: number): boolean => {
    const depth = budgets[index]?.depth ?? 0;
    const next = budgets.slice(index + 1).find((other) => other.depth <= depth);
    return next === undefined || next.depth < depth;
  };
  const open: boolean[] = [];
  return budgets.map((budget, index) => {
    const level = budget.depth - top;
    const last = isLast(index);
    const lines = open.slice(1, level).map((goesOn) => (goesOn ? '│  ' : '   '));
    open[level] = !last;
    const mark = level === 0 ? '' : `${lines.join('')}${last ? '└─ ' : '├─ '}`;
    const name = level === 0 ? budget.path : budget.name;
    return { label: `${mark}${name}${budget.state === 'closed' ? ' (closed)' : ''}`, budget };
  });
}

/** The tree with its figures, one line a budget. */
export function budgetTreeText(
  budgets: readonly Budget[],
  how: { readonly isWide: boolean; readonly now: Date },
): string {
  const figures = BUDGET_FIGURES.map(
    ({ of, ...column }): Column<Branch> => ({ ...column, of: ({ budget }, now) => of(budget, now) }),
  );
  return renderTable(branchesOf(budgets), [{ head: 'NAME', of: ({ label }) => label }, ...figures], how);
}

/** What the figures are of. */
export const treeLegend = ({ use }: Budget): string =>
  `GPU-hours of the last ${formatSeconds(use.windowSeconds)}; ratio: used / allocated; expected: with what running work is still protected for; running, waiting: GPUs of charged work`;
