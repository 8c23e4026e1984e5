import type { Budget, BudgetUse } from '../contract/budget.js';
import type { BudgetFacts, BudgetRow, LeafFacts } from './budget-facts.js';
import { type BudgetForest, forestOf, isOpen } from './budget-forest.js';
import { budgetTree } from './budget-tree.js';
import { allocatedTime, claimsOf } from './claims.js';
import type { GpuTime } from './gpu-time.js';

/** Sums of a budget and all below it, closed ones too: what was charged to them stays charged above them. */
export type BudgetSums = Readonly<Record<Summed, number>>;
type Summed = Exclude<keyof LeafFacts, 'id'>;

const SUMMED = [
  'use',
  'committed',
  'unallocatedUse',
  'runningMilliGpus',
  'pendingMilliGpus',
  'openSessions',
] as const satisfies readonly Summed[];
const NOTHING: BudgetSums = {
  use: 0,
  committed: 0,
  unallocatedUse: 0,
  runningMilliGpus: 0,
  pendingMilliGpus: 0,
  openSessions: 0,
};

/** GPUs × factor in thousandths × ms, as GPU-seconds. */
export const gpuSecondsOf = (time: GpuTime): number => time / 1_000_000;

export interface BudgetSight {
  readonly facts: BudgetFacts;
  readonly forest: BudgetForest;
  /** Of the open ones; a closed one claims nothing. */
  readonly claims: ReadonlyMap<string, number>;
  readonly sumsOf: (id: string) => BudgetSums;
}

/** The facts with what follows from them: claims of those that exist, and each budget's sums over all below it. */
export function budgetSight(facts: BudgetFacts): BudgetSight {
  const forest = forestOf(facts.rows);
  const sums = new Map<string, Record<Summed, number>>();
  for (const leaf of facts.leaves) {
    for (const { id } of forest.lineOf(leaf.id)) {
      const sum = sums.get(id) ?? { ...NOTHING };
      for (const name of SUMMED) sum[name] += leaf[name];
      sums.set(id, sum);
    }
  }
  return { facts, forest, claims: openClaims(facts.rows), sumsOf: (id) => sums.get(id) ?? NOTHING };
}

/** Of the budgets that exist. The ledger keeps a sound tree; one that is not has no claims. */
export function openClaims(rows: readonly BudgetRow[]): ReadonlyMap<string, number> {
  const checked = budgetTree(rows.filter(isOpen));
  return 'tree' in checked ? claimsOf(checked.tree) : new Map();
}

/** As the API shows them: parents before children, siblings by name; closed ones after the open ones of their parent. */
export function budgetViews(sight: BudgetSight): readonly Budget[] {
  const { forest, facts } = sight;
  return facts.rows
    .toSorted((a, b) => compareKeys(orderKey(forest, a), orderKey(forest, b)))
    .map((row) => budgetView(sight, row));
}

export function budgetView(sight: BudgetSight, row: BudgetRow): Budget {
  const { forest } = sight;
  return {
    id: row.id,
    name: row.name,
    path: forest.pathOf(row.id),
    parent: row.parentId === null ? null : forest.pathOf(row.parentId),
    domain: row.domain,
    depth: forest.depthOf(row.id),
    isLeaf: row.parentId !== null && forest.childrenOf(row.id).length === 0,
    state: isOpen(row) ? 'open' : 'closed',
    weight: row.weight,
    projects: row.projects.map(({ path }) => path).toSorted(),
    managers: row.managers.map(({ path }) => path).toSorted(),
    minRuntimeCapSeconds: row.capMs === null ? null : row.capMs / 1000,
    use: useOf(sight, row),
    etag: row.etag,
    createdAt: row.createdAt,
    closedAt: row.closedAt,
  };
}

function useOf({ facts, claims, sumsOf }: BudgetSight, { id }: BudgetRow): BudgetUse {
  const claim = claims.get(id) ?? 0;
  const allocated = allocatedTime(claim, facts.capacity);
  const sums = sumsOf(id);
  const ratio = (time: GpuTime): number | null => (allocated === 0 ? null : time / allocated);
  return {
    at: facts.at,
    windowSeconds: facts.settings.windowSeconds,
    claim,
    allocatedGpuSeconds: gpuSecondsOf(allocated),
    usedGpuSeconds: gpuSecondsOf(sums.use),
    committedGpuSeconds: gpuSecondsOf(sums.committed),
    unallocatedGpuSeconds: gpuSecondsOf(sums.unallocatedUse),
    ratio: ratio(sums.use),
    expectedRatio: ratio(sums.use + sums.committed),
    runningGpus: sums.runningMilliGpus / 1000,
    pendingGpus: sums.pendingMilliGpus / 1000,
  };
}

/** Open before closed at each level, then by name, then by id. */
const orderKey = (forest: BudgetForest, row: BudgetRow): readonly string[] =>
  forest
    .lineOf(row.id)
    .toReversed()
    .map((above) => `${isOpen(above) ? 0 : 1}${above.name}\0${above.id}`);

function compareKeys(a: readonly string[], b: readonly string[]): number {
  for (let index = 0; index < Math.max(a.length, b.length); index += 1) {
    const left = a[index];
    const right = b[index];
    if (left === right) continue;
    if (left === undefined) return -1;
    if (right === undefined) return 1;
    return left < right ? -1 : 1;
  }
  return 0;
}
