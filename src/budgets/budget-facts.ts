import type { BudgetChange, BudgetId, BudgetSettings, SessionId } from '../contract/index.js';

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
