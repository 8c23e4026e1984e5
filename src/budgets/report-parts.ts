import type { ReportPeriod } from '../contract/index.js';
import { type ClaimsOfCell, claimsOverTime } from './claims-over-time.js';
import type { GpuTime } from './gpu-time.js';
import type { AccountTimes, ReportFacts } from './report-facts.js';
import type { ReportScope } from './report-scope.js';

const KINDS = ['charged', 'unallocated', 'uncharged'] as const;
const UNITS_IN_SECOND = 1000 * 1000;
export const gpuSeconds = (time: GpuTime): number => time / UNITS_IN_SECOND;

/** Integrals over one stretch of time, of one part of the tree. */
export interface Parts {
  readonly total: GpuTime;
  readonly healthy: GpuTime;
  readonly charged: GpuTime;
  readonly unallocated: GpuTime;
  readonly uncharged: GpuTime;
  readonly byBranch: readonly GpuTime[];
}

/** What each leaf may use of the period (A), with the weights as they were; only while it was a leaf. */
export function allocatedOfLeaves(facts: ReportFacts, cells: readonly ClaimsOfCell[]): ReadonlyMap<string, GpuTime> {
  const sums = new Map<string, number>();
  for (const [cell, { claims, leaves }] of cells.entries()) {
    for (const id of leaves) sums.set(id, (sums.get(id) ?? 0) + (claims.get(id) ?? 0) * (facts.healthy[cell] ?? 0));
  }
  return new Map([...sums].map(([id, time]) => [id, Math.round(time)]));
}

export const claimsOfCells = ({ versions, edgesMs }: ReportFacts): readonly ClaimsOfCell[] =>
  claimsOverTime(versions, edgesMs);

/** The parts of each cell. They are kept whole numbers only where the claim is one: below the root they are rounded when shown. */
export function partsOfCells(facts: ReportFacts, scope: ReportScope, cells: readonly ClaimsOfCell[]): readonly Parts[] {
  const sums = cells.map(({ claims }, cell) => {
    const claim = claims.get(scope.budgetId) ?? (scope.holds(null) ? 1 : 0);
    const total = claim * (facts.total[cell] ?? 0);
    const healthy = claim * (facts.healthy[cell] ?? 0);
    return { total, healthy, charged: 0, unallocated: 0, uncharged: 0, byBranch: scope.branches.map(() => 0) };
  });
  const add = (account: AccountTimes, branch: number | undefined): void => {
    for (const [cell, sum] of sums.entries()) {
      for (const kind of KINDS) sum[kind] += account[kind][cell] ?? 0;
      if (branch !== undefined) sum.byBranch[branch] = (sum.byBranch[branch] ?? 0) + (account.charged[cell] ?? 0);
    }
  };
  for (const leaf of facts.leaves) if (scope.holds(leaf.budgetId)) add(leaf, scope.branchOf(leaf.budgetId));
  if (scope.holds(null)) for (const project of facts.projects) add(project, undefined);
  return sums;
}

export function addUp(parts: readonly Parts[], branches: number): Parts {
  const sum = (of: (one: Parts) => GpuTime): GpuTime => parts.reduce((total, one) => total + of(one), 0);
  return {
    total: sum(({ total }) => total),
    healthy: sum(({ healthy }) => healthy),
    charged: sum(({ charged }) => charged),
    unallocated: sum(({ unallocated }) => unallocated),
    uncharged: sum(({ uncharged }) => uncharged),
    byBranch: Array.from({ length: branches }, (_, branch) => sum(({ byBranch }) => byBranch[branch] ?? 0)),
  };
}

export const assignedOf = ({ charged, unallocated, uncharged }: Parts): GpuTime => charged + unallocated + uncharged;

export const shownParts = (parts: Parts) => ({
  totalGpuSeconds: gpuSeconds(parts.total),
  healthyGpuSeconds: gpuSeconds(parts.healthy),
  assignedGpuSeconds: gpuSeconds(assignedOf(parts)),
  chargedGpuSeconds: gpuSeconds(parts.charged),
  unallocatedGpuSeconds: gpuSeconds(parts.unallocated),
  unchargedGpuSeconds: gpuSeconds(parts.uncharged),
});

/** The equal parts of the period that are shown, each the sum of its cells. */
export function shownPeriods(
  { edgesMs, periodEdgesMs }: ReportFacts,
  cells: readonly Parts[],
  branches: number,
): readonly ReportPeriod[] {
  const starts = edgesMs.slice(0, -1);
  return periodEdgesMs.slice(0, -1).map((fromMs, index) => {
    const untilMs = periodEdgesMs[index + 1] ?? fromMs;
    const parts = addUp(
      cells.filter((_, cell) => (starts[cell] ?? 0) >= fromMs && (starts[cell] ?? 0) < untilMs),
      branches,
    );
    return {
      from: new Date(fromMs).toISOString(),
      until: new Date(untilMs).toISOString(),
      ...shownParts(parts),
      chargedByBranch: parts.byBranch.map(gpuSeconds),
    };
  });
}
