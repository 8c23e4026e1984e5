import { z } from 'zod';
import { claimReasonCodeSchema, instancePhaseSchema } from './model-claim.js';
import { memberStateSchema, poolPolicySchema } from './pool.js';

const bytes = z.int();
const ms = z.number().describe('ms since 1970');

/** Why something of a GPU or member is not known: it admits nothing new, and says which. */
export const snapshotGpuSchema = z.strictObject({
  name: z.string().describe('node/index; unique in the pool'),
  member: z.string().describe('session id'),
  device: z.string(),
  usableBytes: bytes.nullable().describe('what the driver reports without its own reserve; null: not measured'),
  holes: z.array(z.string()).default([]).describe('agent silent, an engine of no claim …'),
});
export type SnapshotGpu = z.infer<typeof snapshotGpuSchema>;

export const snapshotMemberSchema = z.strictObject({
  sessionId: z.string(),
  node: z.string(),
  state: memberStateSchema,
  hostMemoryBytes: bytes.describe('of the member; engines that run and the weights of sleepers share it'),
  /** Measured of its engines that are awake; null: not known (the footprint stands in). */
  hostUsedBytes: bytes.nullable().default(null),
  /** Claims' artifacts that its node holds. */
  cached: z.array(z.string()).default([]),
});
export type SnapshotMember = z.infer<typeof snapshotMemberSchema>;

export const snapshotClaimSchema = z.strictObject({
  id: z.string(),
  model: z.string(),
  createdMs: ms,
  footprintBytes: bytes,
  kvFloorBytes: bytes.describe('K: the larger of kvFloor and kvMin'),
  declaredFloorBytes: bytes.nullable().default(null).describe('kvFloor as it was declared; null: K'),
  kvMinBytes: bytes.nullable().default(null),
  kvMaxBytes: bytes.nullable().default(null),
  priority: z.int().default(0),
  gpusPerInstance: z.int().min(1).default(1),
  replicas: z.int().min(1).default(1),
  pinned: z.boolean().default(false),
  neverSleeps: z.boolean().default(false),
  sleepAfterMs: z.number().nullable().default(null).describe("null: the pool's"),
  minimumAwakeMs: z.number().nullable().default(null),
  artifactUrl: z.string().default(''),
  /** `domain/name`: a neighbour's name is told to nobody outside its project. */
  project: z.string().optional(),
  wakeAskedMs: ms.nullable().default(null).describe('first request for it since it slept'),
  lastRequestMs: ms.nullable().default(null),
  sleepAsked: z.boolean().default(false).describe('by hand: `berth model sleep`'),
  isEnding: z.boolean().default(false),
  /** GPUs where its instance failed just now, until then it is not placed there. */
  avoid: z.array(z.strictObject({ gpu: z.string(), untilMs: ms })).default([]),
  /** Its last start failed for a reason that another GPU does not mend. */
  failedForGood: z.string().nullable().default(null),
});
export type SnapshotClaim = z.infer<typeof snapshotClaimSchema>;

export const ORDER_KINDS = ['start', 'sleep', 'wake', 'stop'] as const;
export const orderKindSchema = z.enum(ORDER_KINDS);
export type OrderKind = z.infer<typeof orderKindSchema>;

/** One engine. Bytes are of each of its GPUs (kvcached has one segment an engine; a limit holds on each GPU of it). */
export const snapshotInstanceSchema = z.strictObject({
  id: z.string(),
  claimId: z.string(),
  replica: z.int().default(0),
  member: z.string(),
  gpus: z.array(z.string()).min(1),
  phase: instancePhaseSchema,
  /** Given and not yet settled. A start or wake is carried out once its limit is in force; sleep and stop at once. */
  order: orderKindSchema.nullable().default(null),
  movesFrom: z.string().nullable().default(null),
  limitBytes: bytes.nullable().default(null).describe('in force, read back; null: none yet, or not readable'),
  plannedBytes: bytes.nullable().default(null).describe('as the ledger recorded it last'),
  kvUsedBytes: bytes.default(0),
  residueBytes: bytes.nullable().default(null).describe('measured while it sleeps; null: not known, or not believed'),
  lastResidueBytes: bytes.nullable().default(null),
  hostBytes: bytes.nullable().default(null).describe('of host memory while it sleeps; null: the footprint is charged'),
  running: z.int().nullable().default(null).describe('null: its load could not be read'),
  waiting: z.int().nullable().default(null),
  idleSinceMs: ms.nullable().default(null),
  awakeSinceMs: ms.default(0),
  phaseSinceMs: ms.default(0),
  /** It was short, and would have gained, at the look before. */
  shortBefore: z.boolean().default(false),
  /** Sleeping was tried and not done (it served, or host memory is full): not again before then. */
  noSleepBeforeMs: ms.nullable().default(null),
});
export type SnapshotInstance = z.infer<typeof snapshotInstanceSchema>;

export const poolHoldSchema = z.strictObject({
  claimId: z.string(),
  replica: z.int().default(0),
  gpus: z.array(z.string()).min(1),
  bytes: bytes.describe('of each of the GPUs'),
  untilMs: ms,
});
export type PoolHold = z.infer<typeof poolHoldSchema>;

/** All that one turn of a pool's planner reads: `berth models plan FILE` takes it as JSON. */
export const poolSnapshotSchema = z
  .strictObject({
    pool: z.string(),
    policy: poolPolicySchema,
    /** Something happened since the last turn (arrival, end, failure, sleep, wake, hold): limits are divided at once. */
    changed: z.boolean().default(true),
    gpusPerMember: z
      .int()
      .nullable()
      .default(null)
      .describe('of a new member, by the pool; null: as the members that there are'),
    gpus: z.array(snapshotGpuSchema),
    members: z.array(snapshotMemberSchema),
    claims: z.array(snapshotClaimSchema),
    instances: z.array(snapshotInstanceSchema),
    holds: z.array(poolHoldSchema).default([]),
    /** Why a member that is wanted is not there: said where the pool is empty. */
    membersWaitFor: z
      .strictObject({ code: z.enum(['PoolEmpty', 'QuotaExceeded']), message: z.string() })
      .nullable()
      .default(null),
  })
  .meta({ id: 'PoolSnapshot' });
export type PoolSnapshot = z.infer<typeof poolSnapshotSchema>;
export type PoolSnapshotInput = z.input<typeof poolSnapshotSchema>;

const limitWriteSchema = z.object({
  instanceId: z.string(),
  model: z.string(),
  fromBytes: bytes.nullable(),
  toBytes: bytes,
});
export type InstanceLimitWrite = z.infer<typeof limitWriteSchema>;

/** What one turn decided; each part carries its reason. The store writes all of it in the turn's transaction. */
export const poolPlanSchema = z
  .object({
    places: z.array(
      z.object({
        claimId: z.string(),
        model: z.string(),
        replica: z.int(),
        member: z.string(),
        gpus: z.array(z.string()),
        movesFrom: z.string().nullable(),
        because: z.string(),
      }),
    ),
    /** To instances that exist; the start of a new one follows from its place. */
    orders: z.array(
      z.object({
        instanceId: z.string(),
        model: z.string(),
        kind: z.enum(['sleep', 'wake', 'stop']),
        because: z.string(),
        /** Of a sleep: who gets the room. */
        for: z.string().nullable(),
      }),
    ),
    /** Claims whose reason differs from what they show, or that wait: null means that they serve. */
    reasons: z.array(
      z.object({
        claimId: z.string(),
        model: z.string(),
        reason: z
          .object({ code: claimReasonCodeSchema, message: z.string(), data: z.record(z.string(), z.unknown()) })
          .nullable(),
      }),
    ),
    holds: z
      .array(poolHoldSchema.extend({ because: z.string() }))
      .describe('all that stand after this turn; others are dropped'),
    calledOff: z
      .array(z.object({ claimId: z.string(), model: z.string(), because: z.string() }))
      .describe('wakes that nobody waits for any more'),
    /** A GPU's new limits: `lower` first, read back and recorded, then `raise` (and the segments of new engines). */
    limits: z.array(
      z.object({
        member: z.string(),
        node: z.string(),
        because: z.string(),
        lower: z.array(limitWriteSchema),
        raise: z.array(limitWriteSchema),
      }),
    ),
    /** Of every instance that has a limit, after this turn: what the ledger records. A place's new engine is `new:<claimId>/<replica>`. */
    planned: z.record(z.string(), bytes),
    short: z.array(z.string()).describe('instances that are short and would gain: kept for the next look'),
    nextLookMs: ms.nullable().describe('the next moment at which time alone changes something'),
  })
  .meta({ id: 'PoolPlan' });
export type PoolPlan = z.infer<typeof poolPlanSchema>;
