import type { EndCause, Refusal } from '../../src/contract/index.js';
import type { Finished, Placement, SessionAttributes } from '../../src/store/session-store.js';
import type { DeploymentActivities } from './deployment-activities.js';
import type { ModelActivities } from './model-activities.js';

export type { Finished, Placement };

export type Admission =
  | { readonly outcome: 'admitted'; readonly shown: SessionAttributes }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

export type Begun =
  | { readonly outcome: 'go'; readonly placement: Placement }
  | { readonly outcome: 'stop' }
  | { readonly outcome: 'stale' };

export interface Ending {
  readonly sessionId: string;
  readonly attempt: number;
  readonly cause: EndCause;
  readonly message: string;
  /** The node that failed, where it was one. */
  readonly node?: string;
}

/**
 * What the row made of a `preempt`: a stop or an exit was first; it is of another attempt, or nobody wants the room any
 * more; or the kernels get their notice, and `graceMs` from now.
 */
export type Noticed = 'stop' | 'stale' | { readonly graceMs: number; readonly cause: EndCause };

/** Counts only: a plan is never a workflow's history. */
export interface PassReport {
  readonly outcome: 'planned' | 'missing';
  readonly placed: number;
  readonly waiting: number;
  /** Plan again at once: the commit found another state than the plan rested on. */
  readonly again: boolean;
  readonly nextWakeMs: number | null;
  /** The head of the queue, for Temporal's UI. */
  readonly head: string;
}

export interface Silence {
  readonly verdict: 'grace' | 'lost' | 'alive' | 'removed';
  readonly retryAfterMs: number;
  readonly endAfterMs: number;
  readonly detail: string;
}

/** Activities on `control`: they touch Postgres and never a container. Each is safe to run twice. */
export interface ControlActivities extends ModelActivities, DeploymentActivities {
  admit(sessionId: string): Promise<Admission>;
  begin(sessionId: string, attempt: number): Promise<Begun>;
  /** Where a begun session is, for a workflow that takes over from one that is gone. */
  openPlacement(sessionId: string): Promise<{ readonly placement: Placement; readonly started: boolean } | null>;
  markRunning(sessionId: string, attempt: number): Promise<'running' | 'ending'>;
  /** Acknowledges a preemption; run again it answers the same, with what is left of the grace. */
  beginNotice(sessionId: string, attempt: number): Promise<Noticed>;
  markEnding(ending: Ending): Promise<void>;
  /** Ends the session, or puts it back to wait: then its state is PENDING, and its place is that of its submission. */
  finish(sessionId: string, attempt: number, nodeReleased: boolean): Promise<Finished>;
  plan(group: string): Promise<PassReport>;
  nodeSilent(node: string, limitMs: number): Promise<Silence>;
  /** LOST or removed: what it holds is not waited for. */
  nodeGone(node: string): Promise<boolean>;
  failLost(node: string): Promise<number>;
}
