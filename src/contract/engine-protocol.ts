import { z } from 'zod';
import { timestampSchema } from './ids.js';
import { deviceSchema } from './node.js';
import { engineSchema } from './pool.js';

/** kvcached's segment of an engine in its member's /dev/shm: it is there before the engine is, so its name follows from the id. */
export const segmentName = (instanceId: string): string => `berth-${instanceId}`;

/**
 * All that an agent needs to run one engine beside its member's anchor, given only to the node where the member runs and
 * while the instance is the ledger's. Values of `environment` and `apiKey` are plain: never logged, never in a history.
 */
export const engineOrderSchema = z
  .object({
    instanceId: z.string(),
    claimId: z.string(),
    modelName: z.string(),
    memberSessionId: z.string(),
    anchorKernelId: z.string(),
    anchorAttempt: z.int(),
    engine: engineSchema,
    image: z.string(),
    registryCredentials: z.object({ username: z.string(), password: z.string() }).nullable(),
    artifactUrl: z.string(),
    artifactSha256: z.string().nullable(),
    args: z.array(z.string()),
    parallel: z.object({ tensor: z.int(), pipeline: z.int() }),
    environment: z.record(z.string(), z.string()),
    apiKey: z.string().describe('asked for by the engine on /v1; the gateway sends it'),
    devices: z.array(deviceSchema),
    memoryBytes: z.int().describe('of the member: the ceiling of each engine'),
    cpuMilli: z.int(),
    ipcName: z.string().describe('`segmentName` of the instance'),
    limitBytes: z.int().describe('it starts under this limit'),
    maximumFootprintBytes: z.int(),
    startDeadlineSeconds: z.int(),
    drainSeconds: z.int(),
  })
  .meta({ id: 'EngineOrder' });
export type EngineOrder = z.infer<typeof engineOrderSchema>;

/** One engine as a look found it. null: could not be read. */
export const engineLookSchema = z.strictObject({
  instanceId: z.string(),
  state: z.enum(['starting', 'ready', 'sleeping', 'restarting', 'exited', 'unreachable']),
  limitBytes: z.int().nullable(),
  kvUsedBytes: z.int().nullable(),
  running: z.int().nullable(),
  waiting: z.int().nullable(),
  completed: z.number().nullable().describe('a counter since the engine started'),
  /** By device: what the engine takes of each, measured; null: not known. */
  memoryBytes: z.record(z.string(), z.int()).nullable(),
  hostBytes: z.int().nullable(),
  restarts: z.int(),
  message: z.string().max(500).nullable(),
});
export type EngineLook = z.infer<typeof engineLookSchema>;

/** Each 10 s, and at once when an engine crashes, is restarted or is given up. */
export const memberLookSchema = z
  .strictObject({
    memberSessionId: z.string(),
    at: timestampSchema,
    everySeconds: z.number().positive().optional().describe('how often its agent looks; 10 when unset'),
    engines: z.array(engineLookSchema).max(1000),
    /** Engines in the member that no instance of the ledger stands for (they are stopped by the agent once the API says so). */
    unknownEngines: z.array(z.string()).max(1000),
    devices: z.array(z.strictObject({ id: z.string(), usableBytes: z.int().nullable() })),
    cachedArtifacts: z.array(z.string().max(2048)).max(1000),
  })
  .meta({ id: 'MemberLook' });
export type MemberLook = z.infer<typeof memberLookSchema>;
export const memberLooksSchema = z
  .strictObject({ looks: z.array(memberLookSchema).min(1).max(256) })
  .meta({ id: 'MemberLooks' });
/** Which engines the ledger does not know (any more): the agent stops and removes exactly these. */
export const memberLooksAnswerSchema = z.object({ remove: z.array(z.string()) }).meta({ id: 'MemberLooksAnswer' });

/** What a written limit came to: read back after the write. */
export const limitResultSchema = z.object({
  instanceId: z.string(),
  limitBytes: z.int().nullable().describe('in force; null: not readable'),
  kvUsedBytes: z.int().nullable(),
});
export type LimitResult = z.infer<typeof limitResultSchema>;

/** What an order to one engine came to. */
export const orderResultSchema = z.discriminatedUnion('outcome', [
  /** Ready (or awake), its limit read back. */
  z.object({
    outcome: z.literal('ready'),
    limitBytes: z.int().nullable(),
    kvUsedBytes: z.int().nullable(),
    host: z.string().describe('where the gateway reaches it'),
    port: z.int(),
    tookMs: z.int(),
  }),
  /** `residueBytes` null: not measured, or a drop too small to believe. */
  z.object({
    outcome: z.literal('asleep'),
    residueBytes: z.int().nullable(),
    hostBytes: z.int().nullable(),
    tookMs: z.int(),
  }),
  /** Something was in flight: it was not slept. */
  z.object({ outcome: z.literal('busy'), running: z.int().nullable(), waiting: z.int().nullable() }),
  z.object({ outcome: z.literal('gone') }),
  z.object({
    outcome: z.literal('failed'),
    message: z.string(),
    /** A retry elsewhere may help (`node`), only another request does (`claim`). */
    whose: z.enum(['node', 'claim']),
  }),
]);
export type OrderResult = z.infer<typeof orderResultSchema>;
