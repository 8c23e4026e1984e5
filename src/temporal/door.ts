import type { Refusal, SessionId } from '../contract/index.js';
import type { DueSignal } from '../store/store.js';

/** What a submission came to within the wait: `pending` is no failure, the row and the workflow go on by themselves. */
export type SubmitAnswer =
  | { readonly outcome: 'admitted' }
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  | { readonly outcome: 'pending' };

export interface ShownOwner {
  readonly user: string;
  readonly project: string;
  readonly group: string;
}

/** The one door to Temporal. Everything behind it may be called twice. */
export interface TemporalDoor {
  /**
   * Starts `session/<id>` with the update `admit` (USE_EXISTING, REJECT_DUPLICATE) and waits up to `waitMs` for the answer.
   * `shown` become search attributes at once; without them the workflow sets them after admission.
   */
  submitSession(sessionId: SessionId, waitMs: number, shown?: ShownOwner): Promise<SubmitAnswer>;
  /** Starts `session/<id>` anew for a row whose workflow is gone: it ends what is there and gives back what it holds. */
  takeOverSession(sessionId: SessionId): Promise<void>;
  /** Signal-with-start of `group/<name>`, without data. */
  kickGroup(group: string): Promise<void>;
  /** Delivers a signal that a row calls for; a workflow that is gone is no error (the sweeper sees to it): false then. */
  signalSession(signal: DueSignal): Promise<boolean>;
  /** Starts `node/<name>` when it does not run. */
  ensureNode(node: string): Promise<void>;
  /**
   * Starts `node-warm/<node>/<hash of the images>`: it brings them there, and tries again for a day. One that is under way is
   * the same one; one that has ended is done again, since images may have been removed meanwhile.
   */
  warmNode(node: string, images: readonly string[]): Promise<void>;
  ensureGroup(group: string): Promise<void>;
  /** Signal-with-start of `pool/<name>`, without data: a turn of its planner. */
  kickPool(pool: string): Promise<void>;
  /** Starts `pool/<name>` when it does not run. */
  ensurePool(pool: string): Promise<void>;
  /** Signal-with-start of `model/<claimId>`, without data: it reads its orders. */
  signalModel(claimId: string): Promise<void>;
  /** Signal-with-start of `deployment/<id>`, without data: a turn over its replicas. */
  kickDeployment(deploymentId: string): Promise<void>;
  /** Deployments whose workflow is open, as visibility knows them: some seconds behind. */
  openDeploymentIds(): AsyncIterable<string>;
  /** Claims whose workflow is open, as visibility knows them: some seconds behind. */
  openModelIds(): AsyncIterable<string>;
  /** Ids of all sessions whose workflow is open, as visibility knows them: some seconds behind. */
  openSessionIds(): AsyncIterable<string>;
  /** Whether `session/<id>` runs, has ended, or never was. */
  sessionWorkflowState(sessionId: SessionId): Promise<'open' | 'closed' | 'missing'>;
  /** Throws when Temporal does not answer within `timeoutMs`. */
  ping(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}
