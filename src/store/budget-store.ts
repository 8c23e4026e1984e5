import type {
  BudgetChange,
  BudgetId,
  BudgetSettings,
  Page,
  PageQuery,
  Principal,
  SessionId,
  SnapshotBudgets,
} from '../contract/index.js';

/** A budget as the ledger keeps it. `etag` changes with each change of its own row. */
export interface BudgetRow {
  readonly id: BudgetId;
  readonly name: string;
  /** null: the root. */
  readonly parentId: BudgetId | null;
  /** null: of no domain, the root alone. */
  readonly domainId: string | null;
  readonly domain: string | null;
  readonly weight: number;
  readonly capMs: number | null;
  readonly projects: readonly { readonly id: string; readonly path: string }[];
  readonly managers: readonly { readonly id: string; readonly path: string }[];
  readonly etag: string;
  readonly createdAt: string;
  readonly closedAt: string | null;
}

/** GPU-time in thousandths of a GPU × ms, GPUs in thousandths; both with the factor of the model in them. */
export interface LeafFacts {
  readonly id: BudgetId;
  /** Charged within [at − W, at). */
  readonly use: number;
  /** What running work (of all groups) is still protected for. */
  readonly committed: number;
  readonly unallocatedUse: number;
  readonly runningMilliGpus: number;
  readonly pendingMilliGpus: number;
  readonly openSessions: number;
}

/** The tree with all that its figures are worked out from, of one moment. */
export interface BudgetFacts {
  readonly at: string;
  readonly settings: BudgetSettings;
  /** C over the window. */
  readonly capacity: number;
  /** Healthy GPUs × factor now: what a minimum runtime's cap is worked out with. */
  readonly presentMilliGpus: number;
  /** Closed ones too. */
  readonly rows: readonly BudgetRow[];
  readonly leaves: readonly LeafFacts[];
}

/** What a change writes, all of it or nothing. `history` goes to the changes, with the actor. */
export interface BudgetWrite {
  readonly row: Pick<BudgetRow, 'id' | 'name' | 'parentId' | 'domainId' | 'weight' | 'capMs' | 'closedAt'> & {
    readonly projectIds: readonly string[];
    readonly managerIds: readonly string[];
  };
  readonly history: readonly Pick<BudgetChange, 'budget' | 'field' | 'before' | 'after'>[];
}

/** What the decider of a change sees: the tree under its lock, and names resolved. */
export interface BudgetGround {
  readonly at: string;
  readonly rows: readonly BudgetRow[];
  /** Open sessions that charge a leaf, at most 20 a leaf. */
  readonly openSessions: readonly { readonly budgetId: BudgetId; readonly id: SessionId; readonly name: string }[];
  /** Of what was asked to be looked up; what is missing does not exist. */
  readonly domains: readonly { readonly id: string; readonly name: string }[];
  readonly projects: readonly { readonly id: string; readonly path: string; readonly domainId: string }[];
  readonly users: readonly { readonly id: string; readonly path: string }[];
}

/** A charge of one session's attempt, as far as it lies within the window. */
export interface Charge {
  readonly sessionId: SessionId;
  readonly name: string;
  readonly user: string;
  readonly budgetId: BudgetId;
  readonly milliGpus: number;
  readonly from: string;
  /** null: it holds them still. */
  readonly until: string | null;
  readonly gpuTime: number;
}

/** The tree of budgets and what is charged to it. It decides nothing: `src/budgets` does, handed in by the caller. */
export interface BudgetStore {
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
  /** Newest first, of the budget and all below it. */
  changes(budgetId: BudgetId, page: PageQuery): Promise<Page<BudgetChange>>;
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
