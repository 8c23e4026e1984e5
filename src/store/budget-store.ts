import type { BudgetFacts, BudgetGround, BudgetRow, BudgetWrite, Charge } from '../budgets/budget-facts.js';
import type { ChangeSight } from '../budgets/budget-rights.js';
import type {
  BudgetChange,
  BudgetId,
  BudgetSettings,
  Page,
  PageQuery,
  Principal,
  SnapshotBudgets,
} from '../contract/index.js';
import type { BudgetPeriodReads } from './budgets/budget-periods.js';

export type {
  BudgetFacts,
  BudgetGround,
  BudgetRow,
  BudgetWrite,
  Charge,
  LeafFacts,
} from '../budgets/budget-facts.js';

/** The tree of budgets and what is charged to it. It decides nothing: `src/budgets` does, handed in by the caller. */
export interface BudgetStore extends BudgetPeriodReads {
  facts(): Promise<BudgetFacts>;
  /** As a snapshot of `group` carries it. */
  forGroup(group: string): Promise<SnapshotBudgets>;
  /**
   * One change under the tree's lock: reads, asks `decide`, writes with history and audit-worthy names; an answer without
   * `write` changes nothing and is given back. All fair-share groups get a new generation and are marked dirty: `kicks` names them.
   */
  change<Refusal>(
    lookUp: {
      readonly domains: readonly string[];
      readonly projects: readonly string[];
      readonly users: readonly string[];
    },
    decide: (ground: BudgetGround) => { readonly write: BudgetWrite } | { readonly refused: Refusal },
    actor: string,
  ): Promise<{ readonly row: BudgetRow; readonly kicks: readonly string[] } | { readonly refused: Refusal }>;
  /** Newest first, of the budget and all below it, what `sight` lets be seen (null: all): a page is short only where it is the last. */
  changes(budgetId: BudgetId, page: PageQuery, sight: ChangeSight | null): Promise<Page<BudgetChange>>;
  /** Largest first, of these leaves. */
  charges(leafIds: readonly BudgetId[], limit: number): Promise<readonly Charge[]>;
  settings(): Promise<BudgetSettings & { readonly etag: string }>;
  putSettings(
    settings: BudgetSettings,
    by: { readonly principal: Principal; readonly etag: string | null },
  ): Promise<
    { readonly settings: BudgetSettings & { readonly etag: string }; readonly kicks: readonly string[] } | 'stale'
  >;
}
