import type { ApplyDeployment, ScaleDecisionView, SessionId } from '../contract/index.js';
import type { Failures } from './back-off.js';
import type { Correction } from './converge.js';
import type { Replica } from './replica.js';
import type { Rollout } from './rollout.js';

/** A replica as the ledger has it: what the pure rules read, and where its requests go. */
export interface ReplicaRow extends Replica {
  readonly id: SessionId;
  readonly drainingMs: number | null;
  /** Requests that gateways had under way when they last told; 0 where none did. */
  readonly inFlight: number;
  /** Every gateway that was heard of lately has said, since it began to drain, that it has nothing under way to it. */
  readonly isDrained: boolean;
  readonly node: string | null;
  /** `''` before its submission is known. */
  readonly sessionState: string;
  /**
   * Whose doing it is that it is `unhealthy` or has ENDED; null: it is neither. `own`: its container exited, its check failed or was
   * never passed, it could not be started, its submission was refused. `platform`: its node is LOST or drains, it is or was
   * preempted. `asked`: somebody stopped it, or its deployment did (`drainingMs` is set).
   */
  readonly fault: 'own' | 'platform' | 'asked' | null;
  /** Why it is unhealthy or ended, or what it waits for. */
  readonly message: string | null;
}

/** All that a turn over one deployment reads. Moments are ms of Postgres's clock. */
export interface DeploymentSnapshot {
  readonly id: string;
  readonly name: string;
  /** The owner's count, or what rules made of it. */
  readonly wanted: number;
  readonly isEnding: boolean;
  readonly current: number | null;
  readonly rollout: Rollout | null;
  readonly rolloutTimeoutMs: number;
  readonly autoscale: ApplyDeployment['autoscale'];
  /** By rule name, when it last changed the count. */
  readonly lastFiredMs: Readonly<Record<string, number>>;
  /** The values of rules' metrics that stand in the ledger (not `prometheus`); absent: missing. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly prometheus: readonly { readonly rule: string; readonly query: string }[];
  /** The last one that was kept; null: none yet. */
  readonly lastDecision: ScaleDecisionView | null;
  readonly lastRequestMs: number | null;
  readonly wakeAskedMs: number | null;
  /** All that are not closed. One whose session has ended is here as ENDED, once: the commit of the turn that saw it closes it. */
  readonly replicas: readonly ReplicaRow[];
  /** By revision, as the last turn wrote them. */
  readonly failures: Readonly<Record<number, Failures>>;
  readonly drainMs: Readonly<Record<number, number>>;
  readonly nowMs: number;
}

/** What a turn decided; written in one transaction. */
export interface DeploymentTurn {
  readonly wanted: number;
  /** To be kept: it changes the count, or says something else than the last one; null: nothing new. */
  readonly decision: ScaleDecisionView | null;
  /** The rule that changed the count now. */
  readonly fired: string | null;
  readonly clearWake: boolean;
  /** null: none is under way. */
  readonly rollout: Rollout | null;
  /** Set where a rollout is over: done, or gone back. */
  readonly verdict: { readonly kind: 'done' | 'roll-back'; readonly because: string } | null;
  readonly rolloutMessage: string;
  readonly weights: readonly { readonly revision: number; readonly percent: number }[];
  /** By revision, whole: counted here alone, so the ledger only keeps them. */
  readonly failures: Readonly<Record<number, Failures>>;
  readonly create: Correction['create'];
  readonly drain: Correction['drain'];
  /** Drained (nothing in flight, or the grace over; also those that `drain` names and that never served): to be stopped now. */
  readonly stop: readonly SessionId[];
  readonly events: readonly {
    readonly kind: string;
    readonly message: string;
    readonly data: Readonly<Record<string, unknown>>;
  }[];
  /** When failures allow the next one; null: nothing waits for that. */
  readonly retryMs: number | null;
}

/** What the count is decided from. */
export type ScaleSnapshot = Pick<
  DeploymentSnapshot,
  | 'wanted'
  | 'autoscale'
  | 'lastFiredMs'
  | 'metrics'
  | 'lastDecision'
  | 'lastRequestMs'
  | 'wakeAskedMs'
  | 'replicas'
  | 'nowMs'
>;
export type ScaleTurn = Pick<DeploymentTurn, 'wanted' | 'decision' | 'fired' | 'clearWake'>;
