import type { BudgetTree } from './budget-tree.js';
import type { GpuTime } from './gpu-time.js';

/**
 * Each budget's part of the capacity, 0 to 1: its parent's claim × its weight / the weights of all siblings that exist,
 * whoever asks at the moment. The leaves' claims add up to 1, but where all siblings have weight 0: those claim nothing.
 */
export function claimsOf(tree: BudgetTree): ReadonlyMap<string, number> {
  const claims = new Map([[tree.rootId, 1]]);
  for (const node of tree.nodes) {
    const children = tree.childrenOf.get(node.id) ?? [];
    const sum = children.reduce((total, { weight }) => total + weight, 0);
    const own = claims.get(node.id) ?? 0;
    for (const child of children) claims.set(child.id, sum === 0 ? 0 : (own * child.weight) / sum);
  }
  return claims;
}

/** A = claim × C: what a budget may use of a window's capacity. */
export const allocatedTime = (claim: number, capacity: GpuTime): GpuTime => Math.round(claim * capacity);

/** Each budget's sum over its leaves: use, committed time, anything that adds up. */
export function sumsOver(tree: BudgetTree, ofLeaf: ReadonlyMap<string, GpuTime>): Map<string, GpuTime> {
  const sums = new Map<string, GpuTime>();
  for (const node of tree.nodes.toReversed()) {
    const children = tree.childrenOf.get(node.id) ?? [];
    const own = ofLeaf.get(node.id) ?? 0;
    sums.set(
      node.id,
      children.reduce((total, { id }) => total + (sums.get(id) ?? 0), own),
    );
  }
  return sums;
}
