import { z } from 'zod';
import { idleCriterionSchema } from './idle-policy.js';
import { kernelIdSchema, sessionIdSchema, timestampSchema } from './ids.js';
import { sessionKindSchema } from './session-kinds.js';

const counter = z.int().min(0);

/** One kernel's container: counters since its start, and what it holds now. */
export const kernelUsageSchema = z.strictObject({
  kernelId: kernelIdSchema,
  attempt: z.int().min(1),
  cpuNanoseconds: counter.describe('since the start of its container'),
  memoryBytes: counter.describe('without the page cache that can be dropped'),
  receivedBytes: counter.default(0),
  sentBytes: counter.default(0),
});
export type KernelUsage = z.infer<typeof kernelUsageSchema>;

/**
 * One device of the node, whoever holds it. `busyMs` of `observedMs` it computed: both only grow, also over a restart of the
 * agent. A device that the driver tells nothing of (a MIG instance) is left out.
 */
export const deviceUsageSchema = z.strictObject({
  id: z.string().max(128),
  busyMs: counter,
  observedMs: counter,
  memoryBytes: counter.nullable().describe('in use now; null: not told'),
});
export type DeviceUsage = z.infer<typeof deviceUsageSchema>;

/**
 * All that a node measured, in one batch (each minute by default). Counters are cumulative, so a batch that is lost costs
 * resolution and no amount; the same batch (`takenAt`) twice is taken once.
 */
export const nodeUsageSchema = z
  .strictObject({
    takenAt: timestampSchema.describe("by the node's clock: it names the batch"),
    ageMs: z.int().min(0).max(600_000).describe('between the measurement and this call: clocks need not agree'),
    everyMs: z.int().min(100).max(3_600_000).describe('the next batch is due after this'),
    kernels: z.array(kernelUsageSchema).max(10_000),
    devices: z.array(deviceUsageSchema).max(1024),
  })
  .meta({ id: 'NodeUsage' });
export type NodeUsage = z.infer<typeof nodeUsageSchema>;

/** Kernels that are not placed there at that attempt: nothing was written of them. */
export const nodeUsageAnswerSchema = z.object({ refused: z.array(z.string()) }).meta({ id: 'NodeUsageAnswer' });

/**
 * What a gateway saw of one session since its last report. The gateway calls `store.usage.recordActivity` each 10 s, also
 * when it saw nothing: its silence is a gap, and a gap never reclaims.
 */
export interface AppActivity {
  readonly sessionId: z.infer<typeof sessionIdSchema>;
  /** Requests, upgrades and frames that began since the last report. */
  readonly requests: number;
  /** Requests and connections that are open now. */
  readonly inFlight: number;
  /** Since the last request, or byte either way, in milliseconds. */
  readonly quietMs: number;
}
export interface ActivityReport {
  /** Of the gateway process, unique: two never report under one name. */
  readonly gateway: string;
  /** Sessions with requests since the last report or with one in flight. */
  readonly sessions: readonly AppActivity[];
}

export const IDLE_MEASURES = ['cpu', 'gpu', 'gpu.mem', 'mem', 'requests', 'runtime'] as const;
export type IdleMeasure = (typeof IDLE_MEASURES)[number];

/** One measure against its threshold. Units: cpu millicores; gpu, gpu.mem and mem percent; requests in flight; runtime seconds. */
export const idleFindingSchema = z.object({
  criterion: idleCriterionSchema,
  measure: z.enum(IDLE_MEASURES),
  status: z.enum(['low', 'active', 'unknown', 'exempt', 'absent']).describe('absent: the session has none of it'),
  value: z.number().nullable().describe('null: not measured'),
  threshold: z.number(),
  since: timestampSchema.nullable().describe('low without a break since then'),
  dueAt: timestampSchema.nullable().describe('when it has been low for its window'),
});
export type IdleFinding = z.infer<typeof idleFindingSchema>;

/** Where a running session stands with its group's idle policy. */
export const idleVerdictSchema = z
  .object({
    state: z
      .enum(['active', 'counting', 'warned', 'due', 'exempt', 'unknown'])
      .describe('counting: idle, and not yet warned; unknown: a measurement is missing, so nothing is reclaimed'),
    message: z.string(),
    since: timestampSchema.nullable().describe('idle since then'),
    reclaimAt: timestampSchema.nullable().describe('when it ends, if it stays idle'),
    warnedAt: timestampSchema.nullable(),
    findings: z.array(idleFindingSchema),
  })
  .meta({ id: 'IdleVerdict' });
export type IdleVerdict = z.infer<typeof idleVerdictSchema>;

const rate = z.number().nullable();
export const usedDeviceSchema = z.object({
  id: z.string(),
  node: z.string(),
  model: z.string(),
  simulated: z.boolean(),
  busyPercent: rate.describe('over 5 min, of the whole device; null: not known'),
  memoryBytes: z.int().nullable().describe('in use on the device, by whomever'),
  promisedBytes: z.int(),
});
export const usedKernelSchema = z.object({
  kernelId: kernelIdSchema,
  role: z.string(),
  node: z.string().nullable(),
  measuredAt: timestampSchema.nullable().describe('null: never; older than three batches: the node is silent'),
  cpuMilli: rate.describe('over 5 min'),
  cpuMilliPromised: z.int(),
  memoryBytes: z.int().nullable(),
  memoryBytesPromised: z.int(),
  receivedBytes: z.int().nullable(),
  sentBytes: z.int().nullable(),
  devices: z.array(usedDeviceSchema),
});
/** Live use of a running session, for `berth top`. */
export const sessionUsageSchema = z
  .object({
    sessionId: sessionIdSchema,
    name: z.string(),
    kind: sessionKindSchema,
    user: z.string(),
    project: z.string(),
    group: z.string(),
    startedAt: timestampSchema.nullable(),
    createdAt: timestampSchema,
    requestsInFlight: z.int(),
    lastRequestAt: timestampSchema.nullable(),
    kernels: z.array(usedKernelSchema),
    idle: idleVerdictSchema.nullable().describe('null where its group reclaims nothing of its kind'),
  })
  .meta({ id: 'SessionUsage' });
export type SessionUsage = z.infer<typeof sessionUsageSchema>;
