import type {
  ActivityReport,
  IdleVerdict,
  NodeUsage,
  Page,
  PageQuery,
  Principal,
  SessionId,
  SessionUsage,
  Timestamp,
} from '../contract/index.js';
import type { IdleSubject } from '../scheduler/idle-subject.js';
import type { DueSignal } from './store.js';

/** A subject with what its verdict rests on: the write that ends a session holds only while that is so. */
export interface IdleCandidate extends IdleSubject {
  /** The policy, the newest measurement and request, and how long gateways cover it, as text. */
  readonly seen: string;
}

export interface IdleOrder {
  readonly candidate: IdleCandidate;
  readonly verdict: IdleVerdict;
  readonly step: 'none' | 'warn' | 'clear' | 'end';
  readonly nextLookMs: number | null;
}

export interface UsageQuery extends PageQuery {
  readonly group?: string | undefined;
  readonly project?: string | undefined;
  readonly user?: string | undefined;
}

/** GPU-time in thousandths of a GPU × ms, of one session. */
export interface GpuUsed {
  readonly sessionId: SessionId;
  /** What its devices computed: busy time × what they are charged with. */
  readonly usedMilliGpuMs: number;
  /** What was observed of them at all: what lies between this and the assigned time was not measured. */
  readonly observedMilliGpuMs: number;
}

/** Measurements, activity and idleness. Counters are cumulative; every write may come twice. */
export interface UsageStore {
  /** One batch of a node. `refused`: kernels that are not placed there now. */
  record(node: string, usage: NodeUsage): Promise<{ readonly refused: readonly string[] }>;
  /** What one gateway saw; called each 10 s, also with nothing: silence is a gap, and a gap never reclaims. */
  recordActivity(report: ActivityReport): Promise<void>;
  /** Live use of the running sessions that the viewer may see, newest first. */
  list(query: UsageQuery, viewer: Principal): Promise<Page<SessionUsage>>;
  /** Running sessions under an idle policy of which there is news, or whose moment has come; by id after `after`, with the ledger's clock. */
  idleCandidates(
    after: SessionId | null,
    limit: number,
  ): Promise<{ readonly nowMs: number; readonly candidates: readonly IdleCandidate[] }>;
  /**
   * Writes verdicts that changed, warnings with their event, and the ends: RUNNING → TERMINATING with `idle-timeout`, only
   * where neither a measurement nor the policy is newer than what was decided from. Answers the stops to be told.
   */
  settleIdle(orders: readonly IdleOrder[]): Promise<readonly DueSignal[]>;
  /** Forgets verdicts, and the warnings with them, where no policy is any more: one that is attached again warns anew. */
  forgetIdle(): Promise<void>;
  /** Use in [from, until), from hours; one that the edge cuts counts by its part. All sessions when none are named. */
  gpuUsed(query: {
    readonly from: Timestamp;
    readonly until: Timestamp;
    readonly sessionIds?: readonly SessionId[];
  }): Promise<readonly GpuUsed[]>;
  /** Forgets samples that no window reaches any more, and gateways that are gone. */
  sweep(): Promise<void>;
}
