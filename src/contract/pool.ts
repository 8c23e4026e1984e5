import { z } from 'zod';
import { environmentSchema } from './create-session.js';
import { nameSchema, projectReferenceSchema, sessionIdSchema, timestampSchema } from './ids.js';

export const ENGINES = ['vllm', 'sglang'] as const;
export const engineSchema = z.enum(ENGINES);
export type Engine = z.infer<typeof engineSchema>;

const DAY_SECONDS = 86_400;
const seconds = z
  .int()
  .min(1)
  .max(30 * DAY_SECONDS);

/** When models of a pool sleep, and what they keep while they do. */
export const poolPolicySchema = z
  .strictObject({
    placement: z
      .enum(['spread', 'pack'])
      .default('spread')
      .describe('spread: fewest awake, then most room; pack: least room that fits'),
    sleepAfterSeconds: seconds.nullable().default(null).describe('idle for so long: sleeps; null: only to make room'),
    noWakeReserveWhileAsleep: z
      .boolean()
      .default(false)
      .describe('a sleeper gives its reservation away, and has to find room to wake'),
    sleepToMakeRoomAfterSeconds: seconds
      .nullable()
      .default(null)
      .describe(
        'idle, and awake, for so long before it may be put to sleep for another; null: 30, or sleepAfterSeconds if shorter',
      ),
  })
  .meta({ id: 'PoolPolicy' });
export type PoolPolicy = z.infer<typeof poolPolicySchema>;

/** What each member is: a session of kind `system` that holds its GPUs in the one ledger. */
export const poolMemberSpecSchema = z
  .strictObject({
    image: z.string().min(1).max(512).describe("of the engines; the member's anchor runs from it, too"),
    gpus: z.int().min(1).max(64).default(1).describe('whole devices of one node'),
    gpuModel: z.string().max(128).optional(),
    cpuMilli: z.int().min(1).default(1000),
    memoryBytes: z
      .int()
      .min(64 * 2 ** 20)
      .describe('host memory of the member: its engines and the weights of sleepers'),
    environment: environmentSchema.default({}).describe('of each engine; values are sealed'),
  })
  .meta({ id: 'PoolMemberSpec' });
export type PoolMemberSpec = z.infer<typeof poolMemberSpecSchema>;

export const createPoolSchema = z
  .strictObject({
    name: nameSchema,
    project: projectReferenceSchema
      .optional()
      .describe("whose quota its members take; the caller's only project when omitted"),
    group: nameSchema.optional(),
    engine: engineSchema.default('vllm'),
    members: z.int().min(0).max(1000).default(1).describe('wanted'),
    member: poolMemberSpecSchema,
    policy: poolPolicySchema.prefault({}),
    projects: z.array(projectReferenceSchema).max(200).default([]).describe('that may claim from it, beside its own'),
  })
  .meta({ id: 'CreatePool' });
export type CreatePool = z.infer<typeof createPoolSchema>;

/** Without defaults: a default would set back what is not named. */
const policy = poolPolicySchema.shape;
const changePoolPolicySchema = z
  .strictObject({
    placement: policy.placement.unwrap(),
    sleepAfterSeconds: policy.sleepAfterSeconds.unwrap(),
    noWakeReserveWhileAsleep: policy.noWakeReserveWhileAsleep.unwrap(),
    sleepToMakeRoomAfterSeconds: policy.sleepToMakeRoomAfterSeconds.unwrap(),
  })
  .partial();

/** What is named is changed; the rest stays. The member's image and size are those of new members. */
export const changePoolSchema = z
  .strictObject({
    members: z.int().min(0).max(1000).optional(),
    policy: changePoolPolicySchema.optional(),
    projects: z.array(projectReferenceSchema).max(200).optional(),
  })
  .meta({ id: 'ChangePool' });
export type ChangePool = z.infer<typeof changePoolSchema>;

/** WAITING: its session waits for quota or room. DRAINING: no new model, those on it leave. */
export const MEMBER_STATES = ['WAITING', 'STARTING', 'READY', 'DRAINING', 'LEAVING'] as const;
export const memberStateSchema = z.enum(MEMBER_STATES);
export type MemberState = z.infer<typeof memberStateSchema>;

export const poolMemberSchema = z
  .object({
    sessionId: sessionIdSchema,
    ordinal: z.int(),
    state: memberStateSchema,
    node: z.string().nullable(),
    reason: z.string().nullable().describe('why it is not ready'),
  })
  .meta({ id: 'PoolMember' });
export type PoolMember = z.infer<typeof poolMemberSchema>;

export const poolSchema = z
  .object({
    name: z.string(),
    project: z.string(),
    group: z.string(),
    engine: engineSchema,
    member: poolMemberSpecSchema.omit({ environment: true }),
    membersWanted: z.int(),
    members: z.array(poolMemberSchema),
    policy: poolPolicySchema,
    projects: z.array(z.string()),
    claims: z.int(),
    isDraining: z.boolean(),
    createdAt: timestampSchema,
  })
  .meta({ id: 'Pool' });
export type Pool = z.infer<typeof poolSchema>;

/** One GPU of a pool as its account stands, for `berth gpu` and the console. Bytes. */
export const poolGpuViewSchema = z
  .object({
    pool: z.string(),
    name: z.string().describe('node/index'),
    device: z.string(),
    usableBytes: z.int().nullable(),
    holes: z.array(z.string()),
    heldBytes: z.int().describe('room kept for claims that are to come'),
    promisedBytes: z.int(),
    maximumRoomBytes: z.int().describe('with everyone at the floor; below 0 while a wake waits for room'),
    roomNowBytes: z.int(),
    tenants: z.array(
      z.object({
        model: z.string(),
        instanceId: z.string(),
        phase: z.string(),
        footprintBytes: z.int(),
        kvFloorBytes: z.int(),
        limitBytes: z.int().nullable(),
        kvUsedBytes: z.int(),
        residueBytes: z.int().nullable(),
        isReleased: z.boolean(),
        running: z.int().nullable(),
        waiting: z.int().nullable(),
      }),
    ),
  })
  .meta({ id: 'PoolGpuView' });
export type PoolGpuView = z.infer<typeof poolGpuViewSchema>;
