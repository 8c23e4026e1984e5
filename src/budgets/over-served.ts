import { type BudgetNode, type BudgetTree, pathTo } from './budget-tree.js';
import { compareLoads, type GpuTime } from './gpu-time.js';

/**
 * Whether the victim's branch is more over-served than the requester's: compared at the children of their lowest common
 * ancestor, by load / weight, strictly greater. Never within one budget, nor where one lies above the other.
 */
export function isMoreOverServed(
  tree: BudgetTree,
  loadOf: (budgetId: string) => GpuTime,
  pair: { readonly victim: string; readonly requester: string },
): boolean {
  const victim = pathTo(tree, pair.victim);
  const requester = pathTo(tree, pair.requester);
  const split = victim.findIndex((node, depth) => node.id !== requester[depth]?.id);
  const over = victim[split];
  const own = requester[split];
  if (over === undefined || own === undefined) return false;
  return compareLoads({ load: loadOf(over.id), weight: over.weight }, { load: loadOf(own.id), weight: own.weight }) > 0;
}

/** A sibling of the requester's own branch at some fork, and how much more over-served it is. */
export interface OverServedBranch {
  readonly id: string;
  /** 0 is the most over-served; equal for branches that are equally so. */
  readonly rank: number;
}

/**
 * The branches that are more over-served than the leaf's own at the fork where they part from it, the most first: by their
 * load / weight over that of the leaf's branch, then (where that has none) by load / weight. `among`: of a budget's
 * children those that anything depends on.
 */
export function overServedBranches(
  tree: BudgetTree,
  loadOf: (budgetId: string) => GpuTime,
  { leaf, among }: { readonly leaf: string; readonly among: (parentId: string) => readonly BudgetNode[] },
): readonly OverServedBranch[] {
  const path = pathTo(tree, leaf);
  const found: { readonly id: string; readonly over: number; readonly perWeight: number }[] = [];
  for (let depth = 1; depth < path.length; depth += 1) {
    const own = path[depth] as BudgetNode;
    const ownLoad = { load: loadOf(own.id), weight: own.weight };
    for (const { id, weight } of among(own.parentId ?? '')) {
      if (id === own.id) continue;
      const load = loadOf(id);
      if (compareLoads({ load, weight }, ownLoad) <= 0) continue;
      const perWeight = weight === 0 ? Number.POSITIVE_INFINITY : load / weight;
      const over = ownLoad.load === 0 ? Number.POSITIVE_INFINITY : (perWeight * own.weight) / ownLoad.load;
      found.push({ id, over, perWeight });
    }
  }
  const differ = (a: (typeof found)[number], b: (typeof found)[number]): boolean =>
    a.over !== b.over || a.perWeight !== b.perWeight;
  found.sort((a, b) => descending(a.over, b.over) || descending(a.perWeight, b.perWeight) || (a.id < b.id ? -1 : 1));
  let rank = 0;
  return found.map((branch, i) => {
    const before = found[i - 1];
    if (before !== undefined && differ(before, branch)) rank = i;
    return { id: branch.id, rank };
  });
}

/** Two infinities are equal. */
const descending = (a: number, b: number): number => (a === b ? 0 : b > a ? 1 : -1);
