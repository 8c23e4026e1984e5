import { z } from 'zod';
import { nameSchema, projectReferenceSchema, timestampSchema } from './ids.js';
import { engineSchema } from './pool.js';
import { quantitySchema } from './quantity.js';

export const CLAIM_PHASES = [
  'PENDING',
  'STARTING',
  'ACTIVE',
  'SLEEPING',
  'WAKING',
  'MOVING',
  'FAILED',
  'STOPPING',
] as const;
export const claimPhaseSchema = z.enum(CLAIM_PHASES);
export type ClaimPhase = z.infer<typeof claimPhaseSchema>;

/** Why a claim does not serve. */
export const CLAIM_REASONS = [
  'NoRoom',
  'MakingRoom',
  'WaitingForRoom',
  'TooLargeForAnyGpu',
  'EngineStarting',
  'EngineSleeping',
  'EngineFailed',
  'Moving',
  'PoolEmpty',
  'QuotaExceeded',
] as const;
export const claimReasonCodeSchema = z.enum(CLAIM_REASONS);
export type ClaimReasonCode = z.infer<typeof claimReasonCodeSchema>;

/** As clients name it: letters, digits and `. _ - / :`, 1–128 characters. */
export const modelNameSchema = z
  .string()
  .max(128)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._/:-]*$/, 'letters, digits and . _ - / :, starting with a letter or digit');

export const artifactUrlSchema = z
  .string()
  .max(2048)
  .regex(
    /^(huggingface|https|s3|folder):\/\/[^\s]+$/,
    'huggingface://, https://, s3:// or folder://, and what lies there',
  );

const PER_GPU_MISSING = 'is missing: {"maximumFootprint": "30Gi", "kvFloor": "10Gi"}';
export const perGpuSchema = z
  .strictObject(
    {
      maximumFootprint: quantitySchema.describe('F: the most that one instance uses of a GPU beside its KV cache'),
      kvFloor: quantitySchema.describe('K: the least KV cache that it needs to serve'),
    },
    { error: ({ code, input }) => (code === 'invalid_type' && input === undefined ? PER_GPU_MISSING : undefined) },
  )
  .meta({ id: 'PerGpu' });

const seconds = z
  .int()
  .min(1)
  .max(30 * 86_400);
export const claimSleepSchema = z
  .strictObject({
    afterSeconds: seconds.nullable().default(null).describe("null: the pool's"),
    never: z.boolean().default(false),
    minimumAwakeSeconds: seconds
      .nullable()
      .default(null)
      .describe("awake for so long before it may sleep to make room; null: the pool's"),
  })
  .meta({ id: 'ClaimSleep' });

/** What may change after creation. */
const changeable = {
  perGpu: perGpuSchema,
  priority: z.int().min(0).max(1000).default(0).describe('multiplies its weight by 1 + priority'),
  kvMin: quantitySchema.nullable().default(null),
  kvMax: quantitySchema.nullable().default(null),
  sleep: claimSleepSchema.prefault({}),
};

export const createModelClaimSchema = z
  .strictObject({
    modelName: modelNameSchema,
    pool: nameSchema,
    project: projectReferenceSchema
      .optional()
      .describe("the caller's only project when omitted; it must be one of the pool's"),
    artifactUrl: artifactUrlSchema,
    artifactSha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .nullable()
      .default(null)
      .describe('of an https:// file'),
    engine: engineSchema.optional().describe("the pool's when omitted"),
    args: z
      .array(z.string().min(1).max(1024))
      .max(100)
      .default([])
      .describe("the engine's own, as `--max-model-len`, `2048`"),
    parallel: z
      .strictObject({ tensor: z.int().min(1).max(64).default(1), pipeline: z.int().min(1).max(64).default(1) })
      .prefault({})
      .describe('tensor × pipeline GPUs an instance'),
    replicas: z.int().min(1).max(64).default(1).describe('each on GPUs of its own'),
    pinned: z.boolean().default(false).describe('never slept'),
    hold: z
      .strictObject({ maxWaitSeconds: z.int().min(1).max(600), maxQueue: z.int().min(1).max(10_000) })
      .nullable()
      .default(null)
      .describe('the gateway holds requests while it wakes, within these bounds; null: it answers 503 at once'),
    ...changeable,
  })
  .meta({ id: 'CreateModelClaim' });
export type CreateModelClaim = z.infer<typeof createModelClaimSchema>;
export type CreateModelClaimInput = z.input<typeof createModelClaimSchema>;

/** Without defaults: a default would set back what is not named. */
const sleep = claimSleepSchema.shape;
const changeClaimSleepSchema = z
  .strictObject({
    afterSeconds: sleep.afterSeconds.unwrap(),
    never: sleep.never.unwrap(),
    minimumAwakeSeconds: sleep.minimumAwakeSeconds.unwrap(),
  })
  .partial();

/** Only these may change; anything else is refused by name (make a new claim for it). */
export const changeModelClaimSchema = z
  .strictObject(
    {
      perGpu: perGpuSchema.partial().optional(),
      priority: z.int().min(0).max(1000).optional(),
      kvMin: quantitySchema.nullable().optional(),
      kvMax: quantitySchema.nullable().optional(),
      sleep: changeClaimSleepSchema.optional(),
    },
    {
      error: ({ code }) =>
        code === 'unrecognized_keys'
          ? 'cannot change after creation (perGpu, priority, kvMin, kvMax and sleep can): make a new claim'
          : undefined,
    },
  )
  .meta({ id: 'ChangeModelClaim' });
export type ChangeModelClaim = z.infer<typeof changeModelClaimSchema>;

export const claimReasonSchema = z
  .object({
    code: claimReasonCodeSchema,
    message: z.string(),
    data: z.record(z.string(), z.unknown()).describe('the need, the nearest GPU, its sum …, in bytes'),
  })
  .meta({ id: 'ClaimReason' });
export type ClaimReason = z.infer<typeof claimReasonSchema>;

export const INSTANCE_PHASES = ['STARTING', 'ACTIVE', 'SLEEPING', 'WAKING', 'STOPPING', 'FAILED'] as const;
export const instancePhaseSchema = z.enum(INSTANCE_PHASES);
export type InstancePhase = z.infer<typeof instancePhaseSchema>;

/** One engine of a claim. Bytes are of each of its GPUs. */
export const modelInstanceSchema = z
  .object({
    id: z.string(),
    replica: z.int(),
    member: z.string().describe('session id'),
    node: z.string(),
    gpus: z.array(z.string()),
    phase: instancePhaseSchema,
    routable: z.boolean(),
    movesFrom: z.string().nullable().describe('the instance that it takes the place of'),
    limitBytes: z.int().nullable().describe('in force, read back'),
    plannedBytes: z.int().nullable().describe('as recorded'),
    kvUsedBytes: z.int(),
    residueBytes: z.int().nullable(),
    running: z.int().nullable(),
    waiting: z.int().nullable(),
    idleSince: timestampSchema.nullable(),
    phaseSince: timestampSchema,
    restarts: z.int(),
    message: z.string().nullable(),
  })
  .meta({ id: 'ModelInstance' });
export type ModelInstance = z.infer<typeof modelInstanceSchema>;

export const modelClaimSchema = z
  .object({
    id: z.string(),
    modelName: z.string(),
    pool: z.string(),
    project: z.string(),
    artifactUrl: z.string(),
    engine: engineSchema,
    args: z.array(z.string()),
    gpusPerInstance: z.int(),
    replicas: z.int(),
    pinned: z.boolean(),
    hold: createModelClaimSchema.shape.hold,
    maximumFootprintBytes: z.int(),
    kvFloorBytes: z.int(),
    kvMinBytes: z.int().nullable(),
    kvMaxBytes: z.int().nullable(),
    priority: z.int(),
    sleep: claimSleepSchema,
    phase: claimPhaseSchema,
    reason: claimReasonSchema.nullable().describe('null: it serves'),
    instances: z.array(modelInstanceSchema),
    wakeAskedAt: timestampSchema.nullable(),
    lastRequestAt: timestampSchema.nullable(),
    startSeconds: z.number().nullable().describe('what its last start took'),
    wakeSeconds: z.number().nullable(),
    createdAt: timestampSchema,
  })
  .meta({ id: 'ModelClaim' });
export type ModelClaim = z.infer<typeof modelClaimSchema>;

export const modelEventSchema = z
  .object({
    id: z.int(),
    at: timestampSchema,
    kind: z
      .string()
      .describe('claimed, placed, phase, limits, sleep, wake, room, hold, moved, crashed, changed, ended …'),
    instanceId: z.string().nullable(),
    from: z.string().nullable(),
    to: z.string().nullable(),
    reason: z.string().nullable(),
    message: z.string(),
    data: z.record(z.string(), z.unknown()),
    actor: z.string(),
  })
  .meta({ id: 'ModelEvent' });
export type ModelEvent = z.infer<typeof modelEventSchema>;
