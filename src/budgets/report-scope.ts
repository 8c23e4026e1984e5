import type { ReportFacts } from './report-facts.js';

/** The part of the tree that a report speaks of. */
export interface ReportScope {
  readonly budgetId: string;
  readonly path: string;
  /** What has no budget belongs to the root alone. */
  readonly holds: (budgetId: string | null) => boolean;
  /** The children that anything was charged to or that exist still, by path; a leaf is its own branch. */
  readonly branches: readonly { readonly id: string; readonly path: string }[];
  /** The branch that a budget lies in. */
  readonly branchOf: (budgetId: string) => number | undefined;
  readonly pathOf: (budgetId: string | null) => string | null;
  readonly isRoot: (budgetId: string) => boolean;
}

/** null: there is no such budget. */
export function reportScope(facts: ReportFacts, budgetId: string): ReportScope | null {
  const byId = new Map(facts.budgets.map((budget) => [budget.id, budget]));
  const top = byId.get(budgetId);
  if (top === undefined) return null;
  /** From the budget up to the root. */
  const above = (id: string): readonly string[] => {
    const ids: string[] = [];
    for (let at = byId.get(id); at !== undefined && !ids.includes(at.id); at = byId.get(at.parentId ?? ''))
      ids.push(at.id);
    return ids;
  };
  const holds = (id: string | null): boolean => (id === null ? top.parentId === null : above(id).includes(budgetId));
  const seen = new Set(facts.leaves.flatMap((leaf) => above(leaf.budgetId)));
  const children = facts.budgets.filter(
    ({ parentId, isOpen, id }) => parentId === budgetId && (isOpen || seen.has(id)),
  );
  const branches = children.length === 0 ? [top] : children.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const index = new Map(branches.map(({ id }, at) => [id, at]));
  const branchOf = (id: string): number | undefined =>
    above(id)
      .map((one) => index.get(one))
      .find((at) => at !== undefined);
  const pathOf = (id: string | null): string | null => (id === null ? null : (byId.get(id)?.path ?? id));
  const isRoot = (id: string): boolean => byId.get(id)?.parentId === null;
  return { budgetId, path: top.path, holds, branches, branchOf, pathOf, isRoot };
}
