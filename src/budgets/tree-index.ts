import type { BudgetTree } from './budget-tree.js';

/** A tree's budgets by number: parents before children, siblings by name, the root is 0. */
export interface TreeIndex {
  readonly numberOf: ReadonlyMap<string, number>;
  readonly ids: readonly string[];
  /** −1 for the root. */
  readonly parent: Int32Array;
  readonly weight: Float64Array;
}

const KNOWN = new WeakMap<BudgetTree, TreeIndex>();

/** Made once a tree. */
export function treeIndex(tree: BudgetTree): TreeIndex {
  const known = KNOWN.get(tree);
  if (known !== undefined) return known;
  const { nodes } = tree;
  const numberOf = new Map(nodes.map(({ id }, i) => [id, i]));
  const index = {
    numberOf,
    ids: nodes.map(({ id }) => id),
    parent: Int32Array.from(nodes, ({ parentId }) => numberOf.get(parentId ?? '') ?? -1),
    weight: Float64Array.from(nodes, ({ weight }) => weight),
  };
  KNOWN.set(tree, index);
  return index;
}

/** Each budget's sum over what is below it and its own, by number. */
export function sumsByNumber({ numberOf, parent }: TreeIndex, own: ReadonlyMap<string, number>): Float64Array {
  const sums = new Float64Array(parent.length);
  for (const [id, amount] of own) {
    const i = numberOf.get(id);
    if (i !== undefined) sums[i] = (sums[i] as number) + amount;
  }
  for (let i = sums.length - 1; i > 0; i -= 1) {
    const above = parent[i] as number;
    sums[above] = (sums[above] as number) + (sums[i] as number);
  }
  return sums;
}
