import type {
  ApplyDeployment,
  Deployment,
  DeploymentEvent,
  DeploymentToken,
  DeploymentWhy,
  Page,
  PageQuery,
  Principal,
  ReplicaMetrics,
  Revision,
  ScaleDecisionView,
  ScaleMetric,
  SessionId,
} from '../contract/index.js';
import type { Failures } from '../deployments/back-off.js';
import type { Correction } from '../deployments/converge.js';
import type { Replica } from '../deployments/replica.js';
import type { Rollout } from '../deployments/rollout.js';
import type { ModelScope } from './model-store.js';

/** A replica as the ledger has it: what the pure rules read, and where its requests go. */
export interface ReplicaRow extends Replica {
  readonly id: SessionId;
  readonly servingMs: number | null;
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

/** What is to be carried out after a turn: asked again, it answers what is not carried out yet. */
export interface DeploymentWork {
  readonly outcome: 'lives' | 'ended' | 'missing';
  /** Replicas whose sessions are not known yet, with all that `replicaSession` needs. */
  readonly submit: readonly {
    readonly sessionId: SessionId;
    readonly revision: number;
    readonly name: string;
    readonly template: Revision['template'];
    readonly sealedSecrets: Buffer | null;
    /** As the turn that made the replica got it of `sealApiKey`. */
    readonly sealedApiKey: Buffer | null;
  }[];
  readonly stop: readonly { readonly sessionId: SessionId; readonly graceMs: number; readonly message: string }[];
  readonly owner: Principal | null;
  readonly deployment: { readonly name: string; readonly project: string; readonly group: string } | null;
  /** For the workflow's current details. */
  readonly details: string;
}

/** A deployment as the gateway knows it. */
export interface DeploymentRoute {
  readonly deploymentId: string;
  readonly name: string;
  readonly project: string;
  readonly modelName: string | null;
  readonly access: 'token' | 'public';
  readonly state: Deployment['state'];
  readonly message: string;
  /** What the last start of a replica took, from created to its first success. */
  readonly startSeconds: number | null;
  /** Since when its start or wake goes on. */
  readonly sinceMs: number;
  readonly weights: readonly { readonly revision: number; readonly percent: number }[];
  /** SHA-256 of tokens that have not ended. */
  readonly tokens: readonly { readonly id: string; readonly hash: Buffer; readonly expiresMs: number | null }[];
  /** ACTIVE replicas; a degraded one is the last choice. */
  readonly targets: readonly {
    readonly sessionId: SessionId;
    readonly attempt: number;
    readonly revision: number;
    readonly isDegraded: boolean;
    readonly host: string;
    readonly port: number;
    /** Sealed to the session's id; null: the replica asks for none. */
    readonly sealedApiKey: Buffer | null;
  }[];
}

/** What one gateway process told of one deployment since it last did. */
export interface DeploymentTraffic {
  readonly deploymentId: string;
  readonly requests: number;
  readonly failures: number;
  /** Refused, or in wait, since no replica serves. */
  readonly queued: number;
  readonly seconds: number;
  readonly lastRequestMs: number | null;
  /** Also of replicas that left the route while something is under way to them. */
  readonly inFlight: readonly { readonly sessionId: SessionId; readonly count: number }[];
}

export type DeploymentProblem =
  | { readonly problem: 'missing' | 'ending' | 'no-rollout' | 'no-revision' | 'not-paused' | 'nothing-to-promote' }
  | { readonly problem: 'refused'; readonly field: string; readonly message: string };

export interface DeploymentStore {
  /** Run again with the same it changes nothing. `sealedSecrets`: environment and registry credentials, sealed to `deployment/<id>/<revision>`. */
  apply(
    name: string,
    wish: ApplyDeployment & { readonly project: string },
    by: {
      readonly deploymentId: string;
      readonly userId: string;
      readonly actor: string;
      readonly seal: (deploymentId: string, revision: number) => Buffer | null;
      /** A hash over the whole template, secrets too: what differs is another revision. */
      readonly templateHash: Buffer;
      readonly dryRun: boolean;
    },
  ): Promise<Deployment | DeploymentProblem>;
  deployment(name: string, scope: ModelScope): Promise<Deployment | null>;
  deployments(page: PageQuery & { readonly ended: boolean }, scope: ModelScope): Promise<Page<Deployment>>;
  why(name: string, scope: ModelScope): Promise<DeploymentWhy | null>;
  scale(name: string, replicas: number, actor: string): Promise<Deployment | DeploymentProblem>;
  rolloutChange(
    name: string,
    change:
      | { readonly kind: 'undo'; readonly toRevision: number | null }
      | { readonly kind: 'pause' | 'resume' | 'promote' },
    actor: string,
  ): Promise<Deployment | DeploymentProblem>;
  end(name: string, actor: string): Promise<Deployment | null>;
  revisions(name: string, page: PageQuery): Promise<Page<Revision>>;
  events(name: string, page: PageQuery): Promise<Page<DeploymentEvent>>;
  decisions(name: string, page: PageQuery): Promise<Page<ScaleDecisionView>>;
  createToken(
    name: string,
    token: { readonly id: string; readonly name: string; readonly hash: Buffer; readonly expiresAt: string | null },
    actor: string,
  ): Promise<DeploymentToken | DeploymentProblem>;
  tokens(name: string, page: PageQuery): Promise<Page<DeploymentToken>>;
  revokeToken(name: string, tokenId: string, actor: string): Promise<boolean>;

  // the turn
  /**
   * Under the deployment's lock: reads, lets `decide` decide, writes. `decide` is pure and may be asked twice (a transaction that
   * is tried again). `sealApiKey` makes the key of each replica that is made, sealed to its session's id; null: it has none.
   */
  turn(
    deploymentId: string,
    decide: (snapshot: DeploymentSnapshot) => DeploymentTurn,
    sealApiKey: (sessionId: SessionId, template: Revision['template']) => Buffer | null,
  ): Promise<{ readonly outcome: 'lives' | 'ended' | 'missing' }>;
  /** Of a deployment: the Prometheus queries of its rules. Read before the turn, so that no query runs under the lock. */
  queries(deploymentId: string): Promise<readonly { readonly rule: string; readonly query: string }[]>;
  work(deploymentId: string): Promise<DeploymentWork>;
  /** The deployment of which the session is a replica: one indexed read. */
  deploymentOf(sessionId: string): Promise<string | null>;
  /** Deployments with replicas on the node: kicked when it is marked LOST or comes back. */
  deploymentsOn(node: string): Promise<readonly string[]>;

  // agents and gateways
  recordMetrics(node: string, metrics: ReplicaMetrics): Promise<void>;
  routes(): Promise<readonly DeploymentRoute[]>;
  route(deploymentId: string): Promise<DeploymentRoute | null>;
  /** Answers the deployments to kick: those that were newly asked to wake, or whose draining replicas are empty now. */
  recordTraffic(gateway: string, traffic: readonly DeploymentTraffic[]): Promise<readonly string[]>;

  metrics(): Promise<
    readonly { readonly name: string; readonly labels: Readonly<Record<string, string>>; readonly value: number }[]
  >;
  /** Changed, and no turn since, for so long. */
  due(olderThanMs: number): Promise<readonly string[]>;
  /** Those that have a workflow: until their last replica has ended. */
  open(): Promise<readonly string[]>;
  /** What a rule looks at, as a value of the ledger. */
  metricValue(deploymentId: string, metric: ScaleMetric): Promise<number | null>;
}
