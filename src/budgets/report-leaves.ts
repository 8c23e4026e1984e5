import type { ReportLeaf } from '../contract/index.js';
import type { ClaimsOfCell } from './claims-over-time.js';
import type { GpuTime } from './gpu-time.js';
import { impactOf, type LeafImpact } from './pyramid.js';
import type { CellTimes, ReportFacts } from './report-facts.js';
import { allocatedOfLeaves, gpuSeconds } from './report-parts.js';
import type { ReportScope } from './report-scope.js';

interface LeafSums extends LeafImpact {
  readonly id: string;
  readonly unallocated: GpuTime;
}

/** The leaves of a part of the tree, by path, with the impact that follows from them. What was charged to a budget stays its own, whatever became of it. */
export function reportLeaves(
  facts: ReportFacts,
  scope: ReportScope,
  cells: readonly ClaimsOfCell[],
): { readonly leaves: readonly ReportLeaf[]; readonly impact: number } {
  const sums = leafSums(facts, scope, cells);
  const { claims: last, leaves: lastLeaves } = cells.at(-1) ?? {};
  const isOpen = new Map(facts.budgets.map((budget) => [budget.id, budget.isOpen]));
  /** What was a leaf for a while only, and of which nobody asked anything, is a step of the tree's making. */
  const isShown = (leaf: LeafSums): boolean =>
    leaf.use + leaf.demand + leaf.unallocated > 0 || (lastLeaves?.has(leaf.id) === true && !scope.isRoot(leaf.id));
  const leaves = sums.filter(isShown).map(({ id, use, allocated, demand, unallocated }): ReportLeaf => {
    const served = Math.min(use, allocated, demand);
    return {
      budget: scope.pathOf(id) ?? id,
      state: isOpen.get(id) === false ? 'closed' : 'open',
      claim: last?.get(id) ?? 0,
      allocatedGpuSeconds: gpuSeconds(allocated),
      usedGpuSeconds: gpuSeconds(use),
      demandGpuSeconds: gpuSeconds(demand),
      servedGpuSeconds: gpuSeconds(served),
      unallocatedGpuSeconds: gpuSeconds(unallocated),
      ratio: allocated === 0 ? null : use / allocated,
    };
  });
  return { leaves: leaves.toSorted((a, b) => (a.budget < b.budget ? -1 : 1)), impact: impactOf(sums) };
}

function leafSums(facts: ReportFacts, scope: ReportScope, cells: readonly ClaimsOfCell[]): readonly LeafSums[] {
  const allocated = allocatedOfLeaves(facts, cells);
  const accounts = new Map(facts.leaves.map((leaf) => [leaf.budgetId, leaf]));
  return [...new Set([...allocated.keys(), ...accounts.keys()])]
    .filter((id) => scope.holds(id))
    .map((id) => {
      const account = accounts.get(id);
      return {
        id,
        use: sumOf(account?.charged),
        allocated: allocated.get(id) ?? 0,
        demand: sumOf(account?.demand),
        unallocated: sumOf(account?.unallocated),
      };
    });
}

export const sumOf = (times: CellTimes = []): GpuTime => times.reduce((total, time) => total + time, 0);
