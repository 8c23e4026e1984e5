import { z } from 'zod';
import { argumentSchema, containerPathSchema, environmentSchema } from './create-session.js';
import { endCauseSchema } from './end-causes.js';
import {
  folderIdSchema,
  kernelIdSchema,
  projectIdSchema,
  sessionIdSchema,
  timestampSchema,
  userIdSchema,
} from './ids.js';
import { guaranteesSchema, sharingSchema } from './node.js';
import { sessionKindSchema } from './session-kinds.js';
import { slotsSchema } from './slots.js';
import { idleVerdictSchema } from './usage.js';
import { expectedStartSchema } from './why.js';

export * from './create-session.js';
export * from './end-causes.js';
export * from './session-kinds.js';
export * from './session-wishes.js';

export const SESSION_STATES = [
  'PENDING',
  'SCHEDULED',
  'PREPARING',
  'CREATING',
  'RUNNING',
  'PREEMPTING',
  'TERMINATING',
  'TERMINATED',
  'CANCELLED',
  'ERROR',
] as const;
export const sessionStateSchema = z.enum(SESSION_STATES);
export type SessionState = (typeof SESSION_STATES)[number];

/** How an ended session ended. `none` while it has not. */
export const SESSION_RESULTS = ['none', 'success', 'failure', 'stopped', 'cancelled', 'platform-failure'] as const;
export const sessionResultSchema = z.enum(SESSION_RESULTS);
export type SessionResult = (typeof SESSION_RESULTS)[number];

export const kernelSchema = z
  .object({
    id: kernelIdSchema,
    role: z.string().describe('main, worker1, worker2 …'),
    rank: z.int(),
    slots: slotsSchema,
    node: z.string().nullable(),
    devices: z.array(
      z.object({
        id: z.string(),
        model: z.string(),
        simulated: z.boolean(),
        share: z
          .object({
            memoryBytes: z.int().describe('promised: what was asked for, or the whole MIG instance'),
            limitBytes: z.int(),
            sharing: sharingSchema,
          })
          .nullable()
          .default(null)
          .describe('null: it has the device whole'),
        guarantees: guaranteesSchema.optional(),
      }),
    ),
    hostname: z.string(),
    exitCode: z.int().nullable(),
    exitReason: z.string().nullable(),
    logTail: z.string().nullable().describe('the last lines of its log, once it ended'),
  })
  .meta({ id: 'Kernel' });

/** Whether a session is charged, in a group that orders by fair share, and what that means for who may stop it. */
export const contractSchema = z
  .object({
    allocated: z
      .boolean()
      .describe('charged, and protected for its minimum runtime; else free, and always preemptible'),
    message: z.string(),
  })
  .meta({ id: 'Contract' });

export const sessionSchema = z
  .object({
    id: sessionIdSchema,
    name: z.string(),
    kind: sessionKindSchema,
    state: z.enum([...SESSION_STATES, 'SUBMITTED']).describe('SUBMITTED: recorded, not yet admitted'),
    health: z.enum(['none', 'starting', 'healthy', 'degraded', 'unhealthy']),
    attempt: z.int(),
    user: z.string(),
    userId: userIdSchema,
    project: z.string(),
    projectId: projectIdSchema,
    domain: z.string(),
    group: z.string(),
    image: z.string(),
    command: z.array(z.string()),
    environmentNames: z.array(z.string()).describe('values are never shown'),
    clusterMode: z.enum(['single-node', 'multi-node']),
    priority: z.int(),
    slots: slotsSchema.describe('of all kernels together'),
    kernels: z.array(kernelSchema),
    mounts: z.array(
      z.object({ folder: z.string(), folderId: folderIdSchema, target: z.string(), readOnly: z.boolean() }),
    ),
    ports: z.array(
      z.object({ name: z.string(), containerPort: z.int(), hostPort: z.int().nullable(), node: z.string().nullable() }),
    ),
    labels: z.record(z.string(), z.string()),
    budget: z.string().nullable().default(null).describe('the path of the budget that is charged; null: none'),
    contract: contractSchema.nullable().default(null).describe('where its group orders by fair share'),
    maxRuntimeSeconds: z.number().nullable(),
    minRuntimeSeconds: z.number(),
    protectedUntil: timestampSchema.nullable().default(null).describe('while it runs: the end of its minimum runtime'),
    startsAt: timestampSchema.nullable().default(null),
    dependsOn: z
      .array(z.object({ sessionId: sessionIdSchema, name: z.string(), state: z.string(), onFailure: z.string() }))
      .default([]),
    preemptible: z.boolean().default(true),
    resumable: z.boolean().default(false),
    basePriority: z.int().optional().describe('as submitted; `priority` is what waiting at the head has left of it'),
    maxAttempts: z.int().default(3),
    retryAt: timestampSchema.nullable().default(null).describe('while it backs off after a failed attempt'),
    expectedStart: expectedStartSchema.nullable().default(null),
    idle: idleVerdictSchema
      .nullable()
      .default(null)
      .describe('while it runs, where its group reclaims idle sessions of its kind'),
    reason: z.string().nullable().describe('one of the reasons of the why object, while it waits'),
    message: z.string().nullable(),
    result: sessionResultSchema,
    cause: endCauseSchema.nullable(),
    exitCode: z.int().nullable(),
    submittedAt: timestampSchema,
    placedAt: timestampSchema.nullable(),
    startedAt: timestampSchema.nullable(),
    endedAt: timestampSchema.nullable(),
    createdAt: timestampSchema,
  })
  .meta({ id: 'Session' });
export type Session = z.infer<typeof sessionSchema>;

export const stopSessionSchema = z
  .strictObject({
    graceSeconds: z.number().min(0).max(3600).optional().describe("the session's own grace period when omitted"),
    force: z.boolean().default(false).describe('SIGKILL at once'),
    reason: z.string().max(500).optional(),
  })
  .meta({ id: 'StopSession' });

export const execSchema = z
  .strictObject({
    command: z.array(argumentSchema).min(1).max(1024),
    kernel: z.string().max(130).optional().describe('a role (main, worker1) or a kernel id; main when omitted'),
    workdir: containerPathSchema.optional(),
    environment: environmentSchema.default({}),
  })
  .meta({ id: 'Exec' });

/** What a new session would get, from `?dryRun=true`: nothing is changed. */
export const dryRunSchema = z
  .object({
    outcome: z.enum(['placed', 'waits', 'refused']),
    kernels: z.array(z.object({ role: z.string(), node: z.string(), devices: z.array(z.string()) })),
    reason: z.string().nullable(),
    message: z.string(),
    quotaAfter: z.array(
      z.object({ scope: z.string(), name: z.string(), slot: z.string(), held: z.int(), limit: z.int() }),
    ),
    estimatedStart: timestampSchema.nullable(),
    estimateBasis: z.string().default(''),
    position: z.int().nullable().default(null),
    wouldStop: z.array(sessionIdSchema).default([]).describe('sessions that would be stopped for it'),
    contract: contractSchema.nullable().default(null).describe('where its group orders by fair share'),
  })
  .meta({ id: 'DryRun' });
