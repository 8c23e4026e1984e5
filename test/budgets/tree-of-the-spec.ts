import { type BudgetNode, type BudgetTree, budgetTree } from '../../src/budgets/budget-tree.js';
import { fromGpuHours, HOUR_MS } from '../../src/budgets/gpu-time.js';

export const WINDOW_MS = 168 * HOUR_MS;
export const CAPACITY = fromGpuHours(64 * 168);

export const node = (name: string, parentId: string | null, weight: number): BudgetNode => ({
  id: name,
  name,
  parentId,
  domainId: parentId === null ? null : 'dom_lab',
  weight,
});

export function treeOf(nodes: readonly BudgetNode[]): BudgetTree {
  const checked = budgetTree(nodes);
  if ('problems' in checked) throw new Error(checked.problems.map(({ message }) => message).join('; '));
  return checked.tree;
}

/** A weight 70 (A1 50, A2 30, A3 20), B weight 30. */
export const TREE = treeOf([
  node('root', null, 1),
  node('A', 'root', 70),
  node('A1', 'A', 50),
  node('A2', 'A', 30),
  node('A3', 'A', 20),
  node('B', 'root', 30),
]);
