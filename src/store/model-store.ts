import type {
  ApiKey,
  ChangeModelClaim,
  ChangePool,
  ClaimReason,
  CreateModelClaim,
  CreatePool,
  EngineOrder,
  LimitResult,
  MemberLook,
  ModelClaim,
  ModelEvent,
  ModelKeyLimits,
  ModelUsage,
  OrderKind,
  OrderResult,
  Page,
  PageQuery,
  Pool,
  PoolPlan,
  PoolSnapshot,
  Principal,
  PutModelKeyLimits,
} from '../contract/index.js';

/**
 * Who may see a thing: all (an operator), or those of these projects. A project's name is unique in its domain only: in this
 * interface, and in what it answers, every project is `domain/name`.
 */
export interface ModelScope {
  readonly projects: readonly string[] | null;
}

/** An order whose time has come, for the workflow of its claim. */
export interface DueOrder {
  readonly instanceId: string;
  readonly kind: OrderKind;
  /** Rises with each order of the instance; a result of an older one is ignored. */
  readonly seq: number;
  readonly node: string;
  readonly memberSessionId: string;
  /** What the ledger recorded as its limit: it is routed only with a limit at or below this. */
  readonly plannedBytes: number | null;
}

export interface ClaimLife {
  readonly outcome: 'lives' | 'ended' | 'missing';
  readonly modelName: string;
  readonly pool: string;
  readonly orders: readonly DueOrder[];
  /** For the workflow's current details: phase, reason, engines. */
  readonly details: string;
}

/** One turn over a pool, under its lock: opened, planned by a pure function, committed in one transaction. */
export interface OpenTurn {
  readonly snapshot: PoolSnapshot;
  readonly nowMs: number;
  /**
   * Writes places (with new instance ids), charges, orders, reasons, holds, limits, events. The plan names the limit of a new
   * engine by `newInstanceKey` of its place. `sealApiKey` makes the key that an engine asks for on /v1, sealed to its instance.
   */
  commit(plan: PoolPlan, sealApiKey: (instanceId: string) => Buffer): Promise<CommittedTurn>;
  close(): Promise<void>;
}

/** What `PoolPlan.planned` calls the engine of a place: it has no id before the commit. */
export const newInstanceKey = ({ claimId, replica }: { readonly claimId: string; readonly replica: number }): string =>
  `new:${claimId}/${replica}`;

export interface CommittedTurn {
  /** Claims that have orders due: their workflows are to be signalled. */
  readonly claims: readonly string[];
  /** All that differs from the record, of members that answer: what the pool's workflow has to carry out now. */
  readonly limits: readonly MemberLimits[];
  /** Where the account itself is in error (Σ held above usable), said in the workflow's details and in metrics. */
  readonly details: string;
}

export interface MemberLimits {
  readonly node: string;
  readonly memberSessionId: string;
  readonly lower: readonly LimitOrder[];
  readonly raise: readonly LimitOrder[];
}

export interface LimitOrder {
  readonly instanceId: string;
  readonly toBytes: number;
  /** Those that the engine has: a raise there waits for every lower there. */
  readonly gpus: readonly string[];
}

/** What a pool's members should be, and what each session of one is. */
export interface MemberWork {
  readonly outcome: 'lives' | 'ended' | 'missing';
  /** What members are made from, in whose name (a member of the pool's project); null where nothing is to be submitted. */
  readonly from: { readonly owner: Principal; readonly pool: Pool } | null;
  /** Sessions to submit (their rows were made; a second call answers the same until they are known). */
  readonly submit: readonly { readonly sessionId: string; readonly ordinal: number }[];
  /** Drained and empty: their sessions are to be stopped. */
  readonly stop: readonly string[];
}

/** A model as the gateway knows it. */
export interface ModelRoute {
  readonly claimId: string;
  readonly modelName: string;
  readonly pool: string;
  readonly project: string;
  /** Names of projects whose keys may use it: the claim's own. */
  readonly projects: readonly string[];
  /** What a client is told where nothing serves: `src/models/gateway-answer.ts`. */
  readonly serving: string;
  readonly reason: string | null;
  readonly phaseSinceMs: number;
  readonly startSeconds: number | null;
  readonly wakeSeconds: number | null;
  readonly hold: ModelClaim['hold'];
  readonly targets: readonly {
    readonly instanceId: string;
    readonly host: string;
    readonly port: number;
    /** Sealed to the instance's id. */
    readonly sealedApiKey: Buffer;
  }[];
}

/** Who a key is, at the gateway. */
export interface GatewayKey {
  readonly keyId: string;
  readonly project: string | null;
  readonly projects: readonly string[];
  readonly isOperator: boolean;
  /** `read` asks nothing of a model. */
  readonly scope: ApiKey['scope'];
  readonly limits: Omit<ModelKeyLimits, 'keyId'>;
}

export type PoolProblem = 'exists' | 'no-group' | 'no-project' | 'not-a-member' | 'has-claims' | 'missing';
export type ClaimProblem =
  | { readonly problem: 'name-taken' | 'no-pool' | 'no-project' | 'missing' }
  /** A pure check's refusal: see `src/models/check-claim.ts`. */
  | {
      readonly problem: 'refused';
      readonly field: string;
      readonly message: string;
      readonly data: Readonly<Record<string, unknown>>;
    };

export interface ModelStore {
  // pools
  /** The environment is sealed to `pool/<name>` and opened with the same words when an engine order is handed out. */
  createPool(
    pool: CreatePool & { readonly project: string; readonly group: string },
    by: { readonly userId: string; readonly sealedEnvironment: Buffer | null },
  ): Promise<Pool | PoolProblem>;
  changePool(
    name: string,
    change: ChangePool & { readonly drain?: boolean },
    actor: string,
  ): Promise<Pool | PoolProblem>;
  removePool(name: string, actor: string): Promise<'removed' | PoolProblem>;
  pool(name: string, scope: ModelScope): Promise<Pool | null>;
  pools(page: PageQuery, scope: ModelScope): Promise<Page<Pool>>;
  /** Reconciles rows with the wanted count and with what became of the members' sessions. */
  memberWork(pool: string): Promise<MemberWork>;
  /** The pool of which the session is, or was, a member: asked when a session runs or ends, so it is one indexed read. */
  poolOfMember(sessionId: string): Promise<string | null>;

  // claims
  /** Called again with the id of a claim that is there, it answers that claim: a retry makes no second one. */
  createClaim(
    claim: CreateModelClaim & { readonly project: string },
    by: { readonly claimId: string; readonly actor: string; readonly userId: string },
    /** Of the pool as it is under its lock: why the claim cannot be placed at all now; it is recorded all the same, with that. */
    why: (snapshot: PoolSnapshot) => ClaimReason | null,
  ): Promise<ModelClaim | ClaimProblem>;
  /** `decide` sees the pool as it is, and the claim; a refusal changes nothing. */
  changeClaim(
    claim: string,
    change: ChangeModelClaim,
    by: {
      readonly actor: string;
      readonly decide: (
        snapshot: PoolSnapshot,
        claimId: string,
      ) => {
        readonly field: string;
        readonly message: string;
        readonly data: Readonly<Record<string, unknown>>;
      } | null;
    },
  ): Promise<ModelClaim | ClaimProblem>;
  claim(claim: string, scope: ModelScope): Promise<ModelClaim | null>;
  claims(page: PageQuery & { readonly pool?: string | undefined }, scope: ModelScope): Promise<Page<ModelClaim>>;
  askSleep(claim: string, actor: string): Promise<ModelClaim | null>;
  /** Idempotent; a claim that is awake only notes the request. Answers the pools to kick: those where something was newly asked. */
  askWakes(claims: readonly { readonly claimId: string; readonly lastRequestMs: number }[]): Promise<readonly string[]>;
  endClaim(claim: string, actor: string): Promise<ModelClaim | null>;
  events(claimId: string, page: PageQuery): Promise<Page<ModelEvent>>;

  // the planner's turn
  openTurn(pool: string, waitMs: number): Promise<OpenTurn | null | 'missing'>;
  snapshot(pool: string): Promise<PoolSnapshot | null>;
  /**
   * What was written and read back; orders that waited for it become due. `unreachable`: the node did not answer in time.
   * `claims`: those of this member with a due order that their workflow has not read (`claimLife`), also when asked again.
   */
  recordLimits(
    pool: string,
    memberSessionId: string,
    results: readonly LimitResult[] | 'unreachable',
  ): Promise<{ readonly claims: readonly string[]; readonly again: boolean }>;

  // the life of a claim
  claimLife(claimId: string): Promise<ClaimLife>;
  /**
   * Run again with one seq it changes nothing. A sleep may fail, too (what the engine is then is not known: it stays off the
   * route until a look says); a stop is never settled as failed: it is given until the engine is gone.
   */
  settleOrder(instanceId: string, seq: number, result: OrderResult): Promise<{ readonly pool: string | null }>;

  // agents
  engineOrder(
    node: string,
    instanceId: string,
  ): Promise<{
    readonly order: Omit<EngineOrder, 'environment' | 'registryCredentials' | 'apiKey'>;
    /** Sealed to the instance's id. */
    readonly sealedApiKey: Buffer;
    /** Of the member: its environment is sealed to it. */
    readonly pool: string;
    readonly sealedEnvironment: Buffer | null;
  } | null>;
  /** Pools that have something due now, and engines that the ledger does not know. */
  recordLooks(
    node: string,
    looks: readonly MemberLook[],
    isDue: (snapshot: PoolSnapshot, nowMs: number) => boolean,
  ): Promise<{
    readonly kick: readonly string[];
    readonly signal: readonly string[];
    readonly remove: readonly string[];
  }>;

  // the gateway
  routes(): Promise<readonly ModelRoute[]>;
  route(claimId: string): Promise<ModelRoute | null>;
  gatewayKey(hash: Buffer): Promise<GatewayKey | null>;
  /** Adds to the hour that it is now. A batch that was counted before (in the last day) counts nothing. */
  recordUsage(rows: readonly Omit<ModelUsage, 'hour'>[], batchId: string): Promise<void>;
  usage(
    query: PageQuery & { readonly model?: string | undefined; readonly since?: string | undefined },
    scope: ModelScope,
  ): Promise<Page<ModelUsage>>;
  keyLimits(keyId: string): Promise<ModelKeyLimits | null>;
  putKeyLimits(keyId: string, limits: PutModelKeyLimits, actor: string): Promise<ModelKeyLimits | null>;
  /** The most that was seen of a claim while it served. */
  measured(claimId: string): Promise<{
    readonly footprintBytes: number | null;
    readonly kvUsedBytes: number | null;
    readonly residueBytes: number | null;
    readonly looks: number;
  }>;

  /**
   * For Prometheus, as `ControlStore.metrics`: `model_claims` {pool, phase, reason}, `model_wake_failures_total` {pool},
   * `model_oldest_wake_ask_seconds` {pool}.
   */
  metrics(): Promise<
    readonly { readonly name: string; readonly labels: Readonly<Record<string, string>>; readonly value: number }[]
  >;

  // the sweeper
  /**
   * What was signalled and not taken for so long: pools that are marked as changed and had no turn since, claims with a due
   * order that their workflow has not read. Nothing else: each of these gets a signal.
   */
  due(olderThanMs: number): Promise<{ readonly pools: readonly string[]; readonly claims: readonly string[] }>;
  /** All that has a workflow: pools until their last member has ended, claims until they have. */
  open(): Promise<{ readonly pools: readonly string[]; readonly claims: readonly string[] }>;
  /** Of the histories of claims, what is older than it is kept for; some thousands at a time. Answers how many events went. */
  trimEvents(): Promise<number>;
}
