import type {
  AuditEntry,
  DeploymentTemplate,
  EndCause,
  KernelId,
  LaunchOrder,
  Node,
  NodeHealthReport,
  NodeReport,
  Page,
  PageQuery,
  Plan,
  Principal,
  QueueEntry,
  Reconcile,
  Reconciled,
  RegisterNode,
  SessionEvent,
  SessionId,
  Snapshot,
  SnapshotPending,
  Why,
} from '../contract/index.js';
import type { AppStore } from './app-store.js';
import type { BudgetStore } from './budget-store.js';
import type { DeploymentStore } from './deployment-store.js';
import type { FolderStore } from './folder-store.js';
import type { ModelStore } from './model-store.js';
import type { ReportStore } from './report-store.js';
import type { SessionStore, Submission } from './session-store.js';
import type { SettingsStore, TenancyStore } from './tenancy-store.js';
import type { UsageStore } from './usage-store.js';

export type { FolderPlace, FolderStore, TooManyFolders } from './folder-store.js';
export type { Bootstrap, SettingsStore, TenancyStore } from './tenancy-store.js';

/** A signal that a row calls for. It carries the attempt; an older one is ignored by the session. */
export interface DueSignal {
  readonly sessionId: SessionId;
  readonly kind: 'placed' | 'stop' | 'preempt' | 'exited' | 'healthy' | 'unhealthy';
  readonly attempt: number;
  /** With a `stop`: what was asked for instead of the session's own grace; 0 kills at once. */
  readonly graceMs?: number;
}

/** What may have to be looked at though the policy asks for nothing, of the group when the pass was opened. */
export interface PassFlags {
  /** Somebody waits for room that is kept for him. */
  readonly hasHolds: boolean;
  /** A node has to become empty: it drains, or is to move. */
  readonly hasDrains: boolean;
  /** A waiting session depends on one that failed, and does not ignore that. */
  readonly hasFailedDependencies: boolean;
  /** A waiting session asks for its place among the sessions of its replica group. */
  readonly hasReplicaGroups: boolean;
  /** A waiting session mounts folders. */
  readonly hasMounts: boolean;
}

/**
 * One pass over a group: opened with the group's advisory lock, `dirty` cleared before anything was read. `base.running` is
 * filled where the policy, a node or somebody who waits may have a use for it, by the store's own rule; else it is empty.
 */
export interface OpenPass {
  readonly base: Omit<Snapshot, 'pending'>;
  readonly flags: PassFlags;
  /** The next 256 waiting sessions in queue order; empty at the end. */
  nextPage(): Promise<readonly SnapshotPending[]>;
  /** Books what still holds, row by row; all of it is refused (`stale`) when the generation changed. Writes reasons only where they differ. */
  commit(plan: Plan): Promise<Committed>;
  close(): Promise<void>;
}
export interface Committed {
  readonly outcome: 'committed' | 'stale';
  readonly placed: readonly { readonly sessionId: SessionId; readonly attempt: number }[];
  /** What the stopped (`preempt`) and the ended (`stop`) have to be told. Their rows call for it too. */
  readonly signals: readonly DueSignal[];
  /** Groups that this plan changed something for (a node moved there, what somebody depends on ended): dirty now, to be kicked by the caller. */
  readonly kicks: readonly string[];
  /** Choices, stops, holds and ends that no longer held: another pass is due. */
  readonly dropped: number;
}

export interface PlanningStore {
  /** Folds released reservations into the node's use first. Null when another planner has the group for longer than `waitMs`. */
  openPass(group: string, waitMs: number): Promise<OpenPass | null>;
  /** True for the caller who must kick the group: the flag was off, or is on for over 2 s without a pass. `onlyIfWaiting`: not when nobody waits. */
  markDirty(group: string, onlyIfWaiting?: boolean): Promise<boolean>;
  /** Rows whose signal was not acknowledged for `olderThanMs`; of one group, or of all. At most `limit`. */
  dueSignals(query: {
    readonly group?: string;
    readonly olderThanMs: number;
    readonly limit: number;
  }): Promise<readonly DueSignal[]>;
  /** A whole snapshot with everybody who waits (at most `limit`), for `berth snapshot` and dry runs. Read only. */
  snapshot(group: string, limit?: number): Promise<Snapshot | null>;
  /** The queue with each one's reason; those behind the blocker get theirs derived. */
  queue(group: string, page: PageQuery): Promise<Page<QueueEntry> | null>;
  /** Head of the queue and counts, as a few lines of Markdown for Temporal's UI. */
  headText(group: string): Promise<string>;
  why(sessionId: SessionId): Promise<Why | null>;
}

export interface NodeStore {
  create(node: {
    readonly name: string;
    readonly group: string;
    readonly zone: string | null;
    readonly tokenHash: Buffer;
  }): Promise<'created' | 'exists' | 'no-group'>;
  /** The node whose token this is. */
  authenticate(tokenHash: Buffer): Promise<{ readonly name: string } | null>;
  /** Capacity and devices; raises the group's generation when they changed. A device that is held is never dropped: it is marked unhealthy. */
  register(name: string, facts: RegisterNode): Promise<void>;
  /** Compares, and with `starting` (or after LOST) turns the node READY (CORDONED stays). Records missing kernels as exited with the engine lost. Returns signals that follow. */
  reconcile(
    name: string,
    found: Reconcile,
  ): Promise<{ readonly answer: Reconciled; readonly signals: readonly DueSignal[]; readonly becameReady: boolean }>;
  /** One by one: refused when the kernel is not placed there at that attempt. */
  report(
    name: string,
    reports: readonly NodeReport[],
  ): Promise<
    readonly {
      readonly kernelId: KernelId;
      readonly accepted: boolean;
      readonly detail: string | null;
      readonly signal: DueSignal | null;
      /** Null where it was refused. */
      readonly sessionId: string | null;
    }[]
  >;
  /** Null when the kernel is not placed on this node, or its placement is over or past its deadline. `secrets` is opened by the API. */
  launchOrder(
    name: string,
    kernelId: KernelId,
    attempt: number,
  ): Promise<{
    readonly order: Omit<LaunchOrder, 'environment' | 'registryCredentials' | 'metrics'>;
    readonly sealedSecrets: Buffer | null;
    /** Of a deployment's replica: what it was made of. */
    readonly replica: Pick<DeploymentTemplate, 'preset' | 'port' | 'metricsPath'> | null;
  } | null>;
  list(page: PageQuery & { readonly group?: string | undefined }): Promise<Page<Node>>;
  get(name: string): Promise<Node | null>;
  /** False takes a cordon away, and ends a drain that was begun by hand. */
  setCordon(name: string, cordoned: boolean, reason: string): Promise<Node | null>;
  /** Nothing new, and its work leaves. A second call takes the new reason, actor and deadline (counted from now) and keeps `since`. */
  drain(
    name: string,
    how: { readonly reason: string; readonly deadlineSeconds: number | null; readonly actor: string },
  ): Promise<Node | null>;
  /** UNHEALTHY until it is marked healthy: it drains. `by` is who marked it by hand, or `check`. */
  markUnhealthy(name: string, reason: string, by: string): Promise<Node | null>;
  /** Takes the mark away, whoever set it; a node without one is left as it is. */
  markHealthy(name: string, by: string): Promise<Node | null>;
  /** Its next move: now when `at` is null. It replaces the one to the same group. */
  setMove(
    name: string,
    move: {
      readonly toGroup: string;
      readonly at: string | null;
      readonly repeat: 'none' | 'daily' | 'weekly';
      readonly deadlineSeconds: number | null;
    },
    actor: string,
  ): Promise<Node | 'missing' | 'no-group' | 'same-group'>;
  /** Forgets all its moves, and ends a drain that one of them began. */
  cancelMove(name: string): Promise<Node | null>;
  /**
   * Nodes of the group that move and hold nothing more change their group, their drain ends, and a move that repeats gets its
   * next moment. Answers the groups to kick.
   */
  completeMoves(group: string): Promise<readonly string[]>;
  /** What the agent's checks say: images, broken devices, and the mark UNHEALTHY by `check` (never one that a person set). `changed`: a planner has to look. */
  health(name: string, report: NodeHealthReport): Promise<{ readonly changed: boolean }>;
  remove(name: string): Promise<'removed' | 'held' | 'missing'>;
  touch(name: string): Promise<void>;
  /**
   * What silence means, on Postgres's clock. `grace`: the control plane was away (or many fell silent at once): ask again
   * in `retryAfterMs`. `lost`: marked LOST (idempotent), generation raised, its sessions end in `endAfterMs`.
   */
  silent(
    name: string,
    limitMs: number,
  ): Promise<{
    readonly verdict: 'grace' | 'lost' | 'alive' | 'removed';
    readonly retryAfterMs: number;
    readonly endAfterMs: number;
    readonly detail: string;
  }>;
  /** After lostAfter: sessions placed there get cause `node-lost` and TERMINATING. */
  failLost(name: string): Promise<readonly DueSignal[]>;
}

export interface IdempotencyStore {
  /** First call: `new`, with the key, hash and resource id stored. Later: the saved answer, or that it still runs, or that the body differs. */
  begin(entry: {
    readonly principal: string;
    readonly route: string;
    readonly key: string;
    readonly bodyHash: Buffer;
    readonly resourceId: string;
  }): Promise<
    | { readonly outcome: 'new' | 'running'; readonly resourceId: string }
    | { readonly outcome: 'done'; readonly resourceId: string; readonly status: number; readonly body: unknown }
    | { readonly outcome: 'reused' }
  >;
  finish(entry: {
    readonly principal: string;
    readonly route: string;
    readonly key: string;
    readonly status: number;
    readonly body: unknown;
  }): Promise<void>;
  /** A request that changed nothing (a 4xx of validation, a 5xx) frees its key. */
  forget(entry: { readonly principal: string; readonly route: string; readonly key: string }): Promise<void>;
  /** Stores the submission of a session under its id; a second call changes nothing. */
  putSubmission(submission: Submission): Promise<void>;
  /** Submissions older than `olderThanMs` that have neither a session row nor a refusal. */
  orphanSubmissions(olderThanMs: number, limit: number): Promise<readonly SessionId[]>;
  sweep(): Promise<number>;
}

export interface EventStore {
  /** Events after the cursor, up to the oldest running transaction: a late commit is never skipped. */
  ofSession(sessionId: SessionId, after: string | null, limit: number): Promise<readonly SessionEvent[]>;
  all(after: string | null, limit: number, viewer: Principal): Promise<readonly SessionEvent[]>;
  audit(entry: Omit<AuditEntry, 'id' | 'at'>): Promise<void>;
  listAudit(page: PageQuery, viewer: Principal): Promise<Page<AuditEntry>>;
  /** Calls back with a session id soon after its events are committed; re-reads are the listener's business (each 1–2 s, and after `onReconnect`). */
  listen(on: {
    readonly session: (sessionId: string) => void;
    /** A claim whose route or reason changed, told with the commit. */
    readonly model?: (claimId: string) => void;
    /** A deployment whose routes, replicas, tokens or state changed, told with the commit. */
    readonly deployment?: (deploymentId: string) => void;
    /** A key that was revoked or has other limits; null: of which keys the projects changed is not said. */
    readonly key?: (keyId: string | null) => void;
    readonly reconnect: () => void;
  }): Promise<{ close(): Promise<void> }>;
}

export interface ControlStore {
  /** Kept by control workers that reach Temporal: a gap of over 15 s starts a new `up_since`. */
  markUp(): Promise<void>;
  /** Runs `work` when nobody else does; null when somebody does. */
  alone<T>(name: string, work: () => Promise<T>): Promise<T | null>;
  openSessions(
    after: string | null,
    limit: number,
  ): Promise<
    readonly {
      readonly sessionId: SessionId;
      readonly state: string;
      readonly attempt: number;
      readonly ageMs: number;
    }[]
  >;
  /** A row whose workflow is gone for good: ended here, all it held released. */
  endOrphan(sessionId: SessionId, cause: EndCause): Promise<void>;
  /** Of these session ids, those whose row has ended or is not there (and no submission waits): their workflows have nothing left to do. */
  endedOrMissing(ids: readonly string[]): Promise<readonly string[]>;
  groups(): Promise<readonly string[]>;
  nodes(): Promise<readonly string[]>;
  /** Promised above capacity, open holds without an open session, and the like: all 0 in a sound ledger. */
  audit(): Promise<Readonly<Record<string, number>>>;
  metrics(): Promise<
    readonly { readonly name: string; readonly labels: Readonly<Record<string, string>>; readonly value: number }[]
  >;
}

export interface Store {
  readonly sessions: SessionStore;
  readonly planning: PlanningStore;
  readonly nodes: NodeStore;
  readonly tenancy: TenancyStore;
  readonly settings: SettingsStore;
  readonly budgets: BudgetStore;
  readonly folders: FolderStore;
  readonly apps: AppStore;
  readonly idempotency: IdempotencyStore;
  readonly events: EventStore;
  readonly reports: ReportStore;
  readonly control: ControlStore;
  readonly usage: UsageStore;
  readonly models: ModelStore;
  readonly deployments: DeploymentStore;
  /** Applies migrations; two at once apply each once. */
  migrate(): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}
