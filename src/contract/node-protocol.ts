import { z } from 'zod';
import { kernelIdSchema, nameSchema, sessionIdSchema, timestampSchema } from './ids.js';
import { deviceSchema, nodeCapacitySchema } from './node.js';
import { endCauseSchema, healthCheckSchema, noticeSchema } from './session.js';

/** What an agent says of its machine when it starts, and when that changes. */
export const registerNodeSchema = z
  .strictObject({
    architecture: z.enum(['amd64', 'arm64']),
    capacity: nodeCapacitySchema,
    devices: z.array(deviceSchema).max(1024),
    /** Where the API reaches the agent's port for logs and exec, as http://host:port. */
    agentUrl: z.url().max(255),
    /** Where other machines reach published ports. */
    address: z.string().max(255),
    engineId: z.string().max(255).describe("the container engine's own id: agents of one engine share its networks"),
    agentVersion: z.string().max(64),
    images: z.array(z.string().max(512)).max(500).default([]).describe('references and digests that the engine holds'),
  })
  .meta({ id: 'RegisterNode' });
export type RegisterNode = z.infer<typeof registerNodeSchema>;

/** A kernel as the agent finds it among its containers. */
export const foundKernelSchema = z.strictObject({
  kernelId: kernelIdSchema,
  sessionId: sessionIdSchema,
  attempt: z.int().min(1),
  epoch: z.int().min(0),
  state: z.enum(['created', 'running', 'exited']),
});

/** Sent at the agent's start, and each minute when the hash of its inventory differs from the last acknowledged one. */
export const reconcileSchema = z
  .strictObject({ kernels: z.array(foundKernelSchema).max(10_000), starting: z.boolean() })
  .meta({ id: 'Reconcile' });
export type Reconcile = z.infer<typeof reconcileSchema>;

/**
 * The ledger's answer. The agent removes what `remove` names, and nothing else; a container whose epoch is above `epoch`
 * is newer than this list. `missing` are kernels that the ledger believes to run here and that were not found.
 */
export const reconciledSchema = z
  .object({
    epoch: z.int(),
    expected: z.array(
      z.object({ kernelId: kernelIdSchema, sessionId: sessionIdSchema, attempt: z.int(), epoch: z.int() }),
    ),
    remove: z.array(z.object({ kernelId: kernelIdSchema, attempt: z.int() })),
    missing: z.array(kernelIdSchema),
    state: z.string(),
  })
  .meta({ id: 'Reconciled' });
export type Reconciled = z.infer<typeof reconciledSchema>;

/** What an agent says of the machine itself: its checks (a configured command, GPU errors) and the images it holds. */
export const nodeHealthReportSchema = z
  .strictObject({
    healthy: z.boolean(),
    reason: z.string().max(500).describe('the check that failed, and what it said; empty when healthy'),
    /** Devices that must not be given out (Xid, ECC, fallen off the bus), each with its reason. */
    unhealthyDevices: z.array(z.strictObject({ id: z.string().max(128), reason: z.string().max(500) })).max(1024),
    images: z.array(z.string().max(512)).max(500),
  })
  .meta({ id: 'NodeHealthReport' });
export type NodeHealthReport = z.infer<typeof nodeHealthReportSchema>;

const kernelReport = { kernelId: kernelIdSchema, attempt: z.int().min(1) };

/** What an agent reports as it happens; each report is acknowledged one by one and is safe to send twice. */
export const nodeReportSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('progress'),
      ...kernelReport,
      phase: z.enum(['pulling', 'mounting', 'creating']),
      message: z.string().max(500),
      doneBytes: z.int().optional(),
      totalBytes: z.int().optional(),
    }),
    z.strictObject({
      kind: z.literal('exited'),
      ...kernelReport,
      exitCode: z.int(),
      oomKilled: z.boolean(),
      /** The engine itself went away and took the container: the platform's failure, not the user's. */
      engineLost: z.boolean(),
      finishedAt: timestampSchema,
      logTail: z.string().max(65_536),
    }),
    z.strictObject({
      kind: z.literal('health'),
      ...kernelReport,
      healthy: z.boolean(),
      level: z
        .enum(['healthy', 'degraded', 'unhealthy'])
        .optional()
        .describe('`healthy` says it when absent; degraded: it missed, and is still healthy'),
      message: z.string().max(500),
    }),
    z.strictObject({
      kind: z.literal('ports'),
      ...kernelReport,
      ports: z.array(z.strictObject({ name: nameSchema, containerPort: z.int(), hostPort: z.int() })).max(32),
    }),
  ])
  .meta({ id: 'NodeReport' });
export type NodeReport = z.infer<typeof nodeReportSchema>;
export const nodeReportsSchema = z
  .strictObject({ reports: z.array(nodeReportSchema).min(1).max(500) })
  .meta({ id: 'NodeReports' });
export const nodeReportsAnswerSchema = z
  .object({
    results: z.array(z.object({ kernelId: z.string(), accepted: z.boolean(), detail: z.string().nullable() })),
  })
  .meta({ id: 'NodeReportsAnswer' });

/**
 * All that an agent needs to create one kernel's container, given only to the node where the kernel is placed, only
 * while its placement is open. Environment values are plain here: this answer is never logged and never in a history.
 */
export const launchOrderSchema = z
  .object({
    sessionId: sessionIdSchema,
    kernelId: kernelIdSchema,
    attempt: z.int(),
    epoch: z.int(),
    deadline: timestampSchema.describe('a create after this is refused by the agent'),
    sessionName: z.string(),
    role: z.string(),
    rank: z.int(),
    size: z.int(),
    hostname: z.string(),
    image: z.string(),
    registryCredentials: z.object({ username: z.string(), password: z.string() }).nullable(),
    entrypoint: z.array(z.string()).nullable(),
    command: z.array(z.string()),
    workdir: z.string().nullable(),
    environment: z.record(z.string(), z.string()),
    cpuMilli: z.int(),
    memoryBytes: z.int(),
    devices: z.array(
      deviceSchema.extend({
        share: z
          .object({ memoryBytes: z.int(), limitBytes: z.int() })
          .nullable()
          .default(null)
          .describe('a part of its memory, kept to by `sharing`; null: the whole device'),
      }),
    ),
    mounts: z.array(z.object({ volume: z.string(), folderId: z.string(), target: z.string(), readOnly: z.boolean() })),
    ports: z.array(z.object({ name: z.string(), containerPort: z.int() })),
    healthCheck: healthCheckSchema.nullable().describe('of the main kernel only'),
    metrics: z
      .object({ port: z.int(), path: z.string(), everySeconds: z.number() })
      .nullable()
      .default(null)
      .describe("of a deployment's replica: where its Prometheus text is read"),
    gracePeriodSeconds: z.number(),
    notice: noticeSchema.prefault({}).describe('how it is told that it will be stopped'),
    /** May run again elsewhere: an agent out of contact for `contactLimitSeconds` stops it, before the ledger starts it elsewhere. */
    retryable: z.boolean().default(true),
    contactLimitSeconds: z.number().default(240),
    ipc: z
      .enum(['private', 'shareable'])
      .default('private')
      .describe(
        "`shareable`: a member's anchor, whose /dev/shm its engines share; the agent runs its keeper in it, whatever the command",
      ),
    peers: z.array(
      z.object({
        hostname: z.string(),
        rank: z.int(),
        role: z.string(),
        node: z.string(),
        address: z.string(),
        sameEngine: z.boolean(),
      }),
    ),
  })
  .meta({ id: 'LaunchOrder' });
export type LaunchOrder = z.infer<typeof launchOrderSchema>;

/** A start that failed, as the agent's activity says it: `cause` and whose fault it is. */
export const startFailureSchema = z.object({
  cause: endCauseSchema,
  whose: z.enum(['user', 'platform']),
  message: z.string(),
});
export type StartFailure = z.infer<typeof startFailureSchema>;

/** What a token for the agent's own port says (ES256, audience `node/<name>`, one minute). */
export const agentClaimsSchema = z.object({
  kernelId: kernelIdSchema,
  attempt: z.int(),
  operation: z.enum(['logs', 'exec', 'terminal', 'port']),
  containerPort: z.int().optional().describe('of `port`: the only one that the token opens'),
  jti: z.string(),
});
export type AgentClaims = z.infer<typeof agentClaimsSchema>;

export const logsQuerySchema = z.object({
  follow: z.stringbool().default(false),
  tail: z.coerce.number().int().min(0).max(100_000).optional(),
  sinceSeconds: z.coerce.number().int().min(0).optional(),
});

/** One line of the exec stream and of logs in JSON: newline-delimited. The last frame of an exec has the exit code. */
export const streamFrameSchema = z.union([
  z.object({ stream: z.enum(['stdout', 'stderr']), data: z.string().describe('base64') }),
  z.object({ exitCode: z.int() }),
  z.object({ error: z.string() }),
]);
export type StreamFrame = z.infer<typeof streamFrameSchema>;
