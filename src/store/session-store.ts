import type { BudgetFacts } from '../budgets/budget-facts.js';
import type {
  BudgetId,
  CreateSession,
  Dependency,
  EndCause,
  FolderId,
  GroupPolicy,
  KernelId,
  Page,
  PageQuery,
  Principal,
  QuotaLimits,
  Refusal,
  Session,
  SessionId,
  SessionState,
  SnapshotNode,
  SnapshotPending,
  SnapshotQuota,
  Timestamp,
} from '../contract/index.js';

/** A request as it was stored before its workflow was started: the history carries the id, nothing else. */
export interface Submission {
  readonly sessionId: SessionId;
  readonly principal: Principal;
  /** Without `environment` values and registry credentials: those are sealed apart. */
  readonly spec: CreateSession;
  readonly sealedSecrets: Buffer | null;
  readonly submittedAt: Timestamp;
}

/** All that admission decides from, read in one transaction. */
export interface AdmissionContext {
  readonly submission: Submission;
  /** The row that is there already when admission ran before. */
  readonly alreadyAdmitted: SessionAttributes | null;
  readonly project: { readonly id: string; readonly name: string; readonly domain: string } | null;
  readonly isMember: boolean;
  /** Null when there is no such group; `mayUse` false when the project may not use it. `waiting` of the whole group. */
  readonly group: {
    readonly name: string;
    readonly mayUse: boolean;
    readonly policy: GroupPolicy;
    readonly waiting: number;
  } | null;
  readonly nodes: readonly SnapshotNode[];
  /** The tree, where the group orders by fair share; null elsewhere. */
  readonly budgets: Pick<BudgetFacts, 'at' | 'settings' | 'presentMilliGpus' | 'rows'> | null;
  readonly quotas: readonly SnapshotQuota[];
  /** Sessions that wait now, by scope, against `pendingSessions`. */
  readonly pending: readonly {
    readonly scope: 'user' | 'project' | 'domain';
    readonly name: string;
    readonly waiting: number;
    readonly limits: QuotaLimits;
  }[];
  /** The open session of the project with the same name, if any. */
  readonly nameTakenBy: SessionId | null;
  readonly folders: readonly {
    readonly asked: string;
    readonly found: { readonly id: FolderId; readonly name: string; readonly volume: string } | null;
    /** The permission that its mounts need and the submitter has not. */
    readonly lacks?: 'read' | 'write';
  }[];
  /** What it depends on, in the order of the request; `found` is null where the submitter can see no such session. */
  readonly dependencies: readonly { readonly asked: string; readonly found: Dependency | null }[];
}

/** What Temporal's search attributes and details show of a session. */
export interface SessionAttributes {
  readonly sessionId: SessionId;
  readonly name: string;
  readonly user: string;
  readonly project: string;
  readonly group: string;
  readonly slotsText: string;
}

export interface AdmittedKernel {
  readonly id: KernelId;
  /** `main`, `worker1`, `worker2`… */
  readonly role: string;
  readonly rank: number;
  readonly groupRole: string;
  readonly slots: {
    readonly cpuMilli: number;
    readonly memoryBytes: number;
    readonly gpuCount: number;
    readonly gpuMemoryBytes: number;
  };
}

/** Where one attempt of a session was placed, for its workflow. */
export interface Placement {
  readonly attempt: number;
  readonly nodes: readonly {
    readonly node: string;
    readonly kernels: readonly { readonly kernelId: KernelId; readonly epoch: number }[];
  }[];
  readonly startDeadlineMs: number;
  /** Null without a health check. From the moment the containers run. */
  readonly healthDeadlineMs: number | null;
  readonly maxRuntimeMs: number | null;
  readonly graceMs: number;
}

export interface StopRequest {
  readonly sessionId: SessionId;
  readonly cause: EndCause;
  readonly actor: string;
  readonly message: string;
  readonly graceMs: number | null;
  readonly force: boolean;
}

export interface Stopped {
  readonly state: SessionState;
  readonly attempt: number;
  /** False when it had ended or was ending already. */
  readonly changed: boolean;
}

export interface Finished {
  /** PENDING when it was put back to wait; the state that the row has now when the attempt was over before. */
  readonly state: SessionState;
  readonly result: Session['result'];
  /** Of the attempt, when it was put back. */
  readonly cause: EndCause | null;
  readonly message: string | null;
  readonly exitCode: number | null;
  readonly group: string;
  /** Groups where somebody waits for this session, which ended: to be marked dirty and kicked. */
  readonly dependents: readonly string[];
}

/**
 * What the row makes of a `preempt`. `stop`: a stop or an exit was first, or the attempt is over; `stale`: nobody wants its
 * room (any more); else the kernels get their notice, and `graceMs` from now.
 */
export type Notice = 'stop' | 'stale' | { readonly graceMs: number; readonly cause: EndCause };

/** Sessions in the ledger. Each write is one transaction, compare-and-set on the state it leaves, and safe to run twice. */
export interface SessionStore {
  readAdmission(sessionId: SessionId): Promise<AdmissionContext | null>;
  /** Inserts the row as PENDING with its kernels and its first event. A second call changes nothing. */
  insertPending(
    context: AdmissionContext,
    kernels: readonly AdmittedKernel[],
    /** What the admission decided that it charges; a budget that was closed since then leaves it unallocated. */
    budgetId?: BudgetId | null,
  ): Promise<SessionAttributes>;
  /** Keeps the refusal as the submission's answer, so that a retry gets the same one. */
  recordRefusal(sessionId: SessionId, refusal: Refusal): Promise<void>;
  refusalOf(sessionId: SessionId): Promise<Refusal | null>;

  /** SCHEDULED(attempt) → PREPARING. `stop`: a stop was asked first; `stale`: another attempt, or it has gone on already elsewhere. Run again on PREPARING of this attempt it answers the same placement. */
  begin(
    sessionId: SessionId,
    attempt: number,
  ): Promise<{ readonly outcome: 'go'; readonly placement: Placement } | { readonly outcome: 'stop' | 'stale' }>;
  /** Where the session's open reservations are, from PREPARING on (with what remains of its maximum runtime); null when it holds nothing or was not begun. For a workflow that takes over from one that is gone. */
  openPlacement(sessionId: SessionId): Promise<{
    readonly placement: Placement;
    readonly shown: SessionAttributes;
    /** True from RUNNING on: its containers were started. */
    readonly started: boolean;
  } | null>;
  /** PREPARING or CREATING → RUNNING, startedAt = now. `ending` when a stop, an exit or a failure was first. */
  markRunning(sessionId: SessionId, attempt: number): Promise<{ readonly outcome: 'running' | 'ending' }>;
  /**
   * Acknowledges a preemption, so that its signal is not sent again. The grace runs from the first call; a second one
   * answers what is left of it.
   */
  beginNotice(sessionId: SessionId, attempt: number): Promise<Notice>;
  /**
   * Any live state → TERMINATING with its cause; the first cause stays. `node` is the one that failed, where it was one. A
   * session that is PREEMPTING already stays so when the platform fails it: it leaves anyway.
   */
  markEnding(request: StopRequest & { readonly attempt: number; readonly node?: string | undefined }): Promise<Stopped>;
  /**
   * Ledger release and end of the attempt: reservations `SET released_at WHERE released_at IS NULL`, holds with them. The row
   * and its kernels' exits decide whether the session ends with its result, or is PENDING again (preempted to be requeued, or
   * failed by the platform with tries left) at its place by submission. `nodeReleased` false: the node could not be reached
   * and reconciles later. Run again, or late for an older attempt, it changes nothing.
   */
  finish(sessionId: SessionId, attempt: number, nodeReleased: boolean): Promise<Finished>;

  /** PENDING → CANCELLED here and now; a later state gets the stop recorded (RUNNING → TERMINATING). */
  requestStop(request: StopRequest): Promise<Stopped | null>;

  get(sessionId: SessionId, viewer: Principal): Promise<Session | null>;
  /** By id, or by name among the open ones (then the newest ended) that the viewer may see. */
  find(idOrName: string, viewer: Principal): Promise<Session | null>;
  list(query: SessionQuery, viewer: Principal): Promise<Page<Session>>;
  /** A submission that is not admitted yet, shown as SUBMITTED. */
  getSubmitted(sessionId: SessionId, viewer: Principal): Promise<Session | null>;
  /** Where the kernel runs or ran, for logs and exec. */
  locateKernel(
    sessionId: SessionId,
    kernel: string,
  ): Promise<{
    readonly kernelId: KernelId;
    readonly attempt: number;
    readonly node: string;
    readonly agentUrl: string;
    readonly state: SessionState;
  } | null>;
  /** What the admission of this submission would decide from, though nothing is stored: for `?dryRun=true`. */
  previewAdmission(submission: Submission): Promise<AdmissionContext>;
  /** As waiting candidate for `?dryRun=true`, with the ids it would get; nothing is written. `context` resolves what it depends on. */
  candidate(submission: Submission, context?: AdmissionContext, budgetId?: BudgetId | null): SnapshotPending;
}

export interface SessionQuery extends PageQuery {
  readonly state?: readonly string[] | undefined;
  readonly open?: boolean | undefined;
  readonly project?: string | undefined;
  readonly user?: string | undefined;
  readonly group?: string | undefined;
  readonly name?: string | undefined;
  readonly label?: readonly string[] | undefined;
}
