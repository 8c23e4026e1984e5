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
import type { DeploymentSnapshot, DeploymentTurn, ReplicaRow } from '../deployments/turn-types.js';
import type { ModelScope } from './model-store.js';

export type { DeploymentSnapshot, DeploymentTurn, ReplicaRow };

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
  readonly deployment: {
    readonly name: string;
    readonly project: string;
    readonly group: string;
    readonly modelName: string | null;
  } | null;
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
  /** Replicas on the route whose last connection was refused. */
  readonly refused: readonly SessionId[];
}

export type DeploymentProblem =
  | { readonly problem: 'missing' | 'ending' | 'no-rollout' | 'no-revision' | 'not-paused' | 'nothing-to-promote' }
  | { readonly problem: 'refused'; readonly field: string; readonly message: string };

/**
 * Where a deployment is named, its id means it as well: a name means the one that has not ended, else the newest that has. Whoever
 * checked who may see it goes on with the id of what it was shown: a name may be somebody else's a moment later.
 */
export interface DeploymentStore {
  /**
   * Run again with the same it changes nothing; where the rollout of that template failed, it is tried again. Refused: `name` (of
   * another project), `group`, `project`, `modelName` (taken by another deployment or a model claim).
   * `sealedSecrets`: environment and registry credentials, sealed to `deployment/<id>/<revision>`.
   */
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
  /**
   * Of each deployment that is named, what has nothing under way may be left out. Called each second also with nothing to tell:
   * that a gateway told since a replica began to drain, and named nothing under way to it, is what makes it drained.
   * Answers the deployments to kick: those that were newly asked to wake, or whose draining replicas are empty now.
   */
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
