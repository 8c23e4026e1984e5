import { type BudgetTree, pathTo } from './budget-tree.js';
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
