import type { BudgetRow } from './budget-facts.js';
import type { BudgetForest } from './budget-forest.js';
import type { BudgetSight } from './budget-view.js';
import { type FairShareRequest, isAllocated } from './fair-share-queue.js';
import type { GpuTime, Load } from './gpu-time.js';

/** A waiting session in the order of its pass. */
export interface OrderedRequest extends FairShareRequest {
  readonly name: string;
}

/** The budgets' loads as the order compares them: use and committed time, and what the pass has chosen so far. */
export class OrderLoads {
  readonly #sight: BudgetSight;
  readonly #chosen = new Map<string, GpuTime>();

  /** `before`: chosen by an earlier pass, for whom room is held. They count before anybody is compared. */
  constructor(sight: BudgetSight, before: readonly OrderedRequest[] = []) {
    this.#sight = sight;
    for (const request of before) this.choose(request);
  }

  of(row: Pick<BudgetRow, 'id' | 'weight'>): Load {
    const { use, committed } = this.#sight.sumsOf(row.id);
    return { load: use + committed + (this.#chosen.get(row.id) ?? 0), weight: row.weight };
  }

  /** Counts its GPUs × m for its leaf and all above it. */
  choose(request: OrderedRequest): void {
    if (!isAllocated(request)) return;
    const time = request.milliGpus * request.minRuntimeMs;
    for (const { id } of this.#sight.forest.lineOf(request.budgetId ?? ''))
      this.#chosen.set(id, (this.#chosen.get(id) ?? 0) + time);
  }
}

/** Where two leaves part: the children of their lowest common ancestor. Null within one leaf. */
export function partingOf(
  forest: BudgetForest,
  one: string,
  other: string,
): { readonly one: BudgetRow; readonly other: BudgetRow } | null {
  const left = forest.lineOf(one).toReversed();
  const right = forest.lineOf(other).toReversed();
  const split = left.findIndex(({ id }, depth) => id !== right[depth]?.id);
  const [a, b] = [left[split], right[split]];
  return a === undefined || b === undefined ? null : { one: a, other: b };
}
