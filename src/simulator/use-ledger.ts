import { WindowUse } from '../budgets/window-use.js';
import type { Snapshot, SnapshotRunning } from '../contract/snapshot.js';
import type { BudgetPlan } from './budget-plan.js';
import { ROOT_BUDGET_ID } from './root-budget.js';

type Budgets = NonNullable<Snapshot['budgets']>;

/** What was charged, and what ran for nothing, within the window: kept as sessions come and go. Times are ms of the run. */
export class UseLedger {
  readonly #plan: BudgetPlan;
  readonly #charged = new Map<string, WindowUse>();
  /** By leaf, or by project where there is no leaf. */
  readonly #unallocated = new Map<string, WindowUse>();
  readonly #nodes: Budgets['nodes'];
  readonly #leaves: readonly string[];

  constructor(plan: BudgetPlan) {
    this.#plan = plan;
    this.#nodes = plan.tree.nodes.map(({ id, name, parentId, domainId, weight }) => ({
      ...{ id, name, parentId, weight },
      domainId: parentId === null ? null : domainId,
    })) as Budgets['nodes'];
    this.#leaves = plan.tree.nodes.flatMap(({ id }) => (id === ROOT_BUDGET_ID ? [] : [id]));
  }

  /** `milliGpus` is positive when it gets its room and negative when it gives it back. */
  move(
    session: Pick<SnapshotRunning, 'budgetId' | 'projectId' | 'minRuntimeSeconds'>,
    atMs: number,
    milliGpus: number,
  ): void {
    const { budgetId, projectId, minRuntimeSeconds } = session;
    const isCharged = budgetId !== null && minRuntimeSeconds > 0;
    const use = isCharged ? this.#in(this.#charged, budgetId) : this.#in(this.#unallocated, budgetId ?? projectId);
    use.advance(atMs);
    use.change(atMs, milliGpus);
  }

  /** Charged within the window that ends then, of a leaf. */
  useOf(leaf: string, nowMs: number): number {
    return this.#charged.get(leaf)?.advance(nowMs) ?? 0;
  }

  snapshotAt(nowMs: number): Budgets {
    const sum = (of: ReadonlyMap<string, WindowUse>, id: string): number => of.get(id)?.advance(nowMs) ?? 0;
    const leaves = new Set(this.#leaves);
    return {
      windowSeconds: this.#plan.windowMs / 1000,
      capacity: this.#plan.capacity,
      nodes: this.#nodes,
      leaves: this.#leaves.flatMap((id) => {
        const use = sum(this.#charged, id);
        const unallocatedUse = sum(this.#unallocated, id);
        return use + unallocatedUse === 0 ? [] : [{ id, use, unallocatedUse, committedElsewhere: 0 }];
      }) as Budgets['leaves'],
      projects: [...this.#unallocated.keys()]
        .filter((id) => !leaves.has(id))
        .map((id) => ({ id, unallocatedUse: sum(this.#unallocated, id) })),
      factors: this.#plan.factors,
      unallocatedGraceSeconds: this.#plan.unallocatedGraceSeconds,
    };
  }

  #in(of: Map<string, WindowUse>, id: string): WindowUse {
    let use = of.get(id);
    if (use === undefined) of.set(id, (use = new WindowUse(this.#plan.windowMs, 0)));
    return use;
  }
}
