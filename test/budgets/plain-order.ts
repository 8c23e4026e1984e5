import { type BudgetNode, type BudgetTree, isLeaf, pathTo } from '../../src/budgets/budget-tree.js';
import { sumsOver } from '../../src/budgets/claims.js';
import type { FairShareRequest } from '../../src/budgets/fair-share-queue.js';
import { compareLoads } from '../../src/budgets/gpu-time.js';

interface Given {
  readonly tree: BudgetTree;
  readonly claims: ReadonlyMap<string, number>;
  readonly loads: ReadonlyMap<string, number>;
  readonly pending: readonly FairShareRequest[];
}

/** The order of allocated work in its most obvious form: at each fork all children are compared. Who is chosen is said by `isChosen`. */
export function plainOrder({ tree, claims, loads, pending }: Given, isChosen: (id: string) => boolean): string[] {
  const sums = sumsOver(tree, loads);
  const isCharged = ({ budgetId, minRuntimeMs }: FairShareRequest): boolean =>
    minRuntimeMs > 0 && budgetId !== null && tree.byId.has(budgetId) && isLeaf(tree, budgetId);
  const left = pending.filter(isCharged);
  const order: string[] = [];
  while (left.length > 0) {
    const claiming = left.filter(({ budgetId }) => (claims.get(budgetId ?? '') ?? 0) > 0);
    const next = first(tree, sums, claiming.length > 0 ? claiming : left);
    left.splice(left.indexOf(next), 1);
    order.push(next.id);
    if (!isChosen(next.id)) continue;
    for (const { id } of pathTo(tree, next.budgetId ?? ''))
      sums.set(id, (sums.get(id) ?? 0) + next.milliGpus * next.minRuntimeMs);
  }
  return order;
}

function first(
  tree: BudgetTree,
  sums: ReadonlyMap<string, number>,
  left: readonly FairShareRequest[],
): FairShareRequest {
  const below = (id: string): readonly FairShareRequest[] =>
    left.filter(({ budgetId }) => pathTo(tree, budgetId ?? '').some((node) => node.id === id));
  const oldest = ({ id }: BudgetNode): number => Math.min(...below(id).map(({ submittedMs }) => submittedMs));
  let at = tree.rootId;
  while (!isLeaf(tree, at)) {
    const children = (tree.childrenOf.get(at) ?? []).filter(({ id }) => below(id).length > 0);
    const [best] = children.toSorted(
      (a, b) =>
        compareLoads(
          { load: sums.get(a.id) ?? 0, weight: a.weight },
          { load: sums.get(b.id) ?? 0, weight: b.weight },
        ) ||
        oldest(a) - oldest(b) ||
        (a.name < b.name ? -1 : 1),
    );
    at = (best as BudgetNode).id;
  }
  const [request] = below(at).toSorted(
    (a, b) => b.priority - a.priority || a.submittedMs - b.submittedMs || (a.id < b.id ? -1 : 1),
  );
  return request as FairShareRequest;
}
