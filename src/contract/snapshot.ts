import { z } from 'zod';
import { groupPolicySchema } from './group.js';
import { budgetIdSchema, kernelIdSchema, nameSchema, sessionIdSchema, timestampSchema } from './ids.js';
import { nodeStateSchema, sharingSchema } from './node.js';
import { heldSchema, quotaLimitsSchema, quotaScopeSchema } from './quota.js';
import { sessionKindSchema } from './session-kinds.js';
import { slotsSchema } from './slots.js';

export const SNAPSHOT_SCHEMA = 'berth.snapshot/1';

export const snapshotDeviceSchema = z.object({
  id: z.string(),
  model: z.string(),
  memoryBytes: z.int(),
  simulated: z.boolean(),
  healthy: z.boolean(),
  sharing: sharingSchema.default('none'),
  /** Of a MIG instance: the GPU that it is a part of. */
  parentId: z.string().nullable().default(null),
  /** The kernel that holds it whole, or null. A device is whole or shared at a time. */
  heldBy: z.string().nullable(),
  /** Promised parts of its memory, in bytes; at most one on a MIG instance. */
  shares: z.array(z.object({ kernelId: z.string(), memoryBytes: z.int() })).default([]),
});

export const snapshotNodeSchema = z.object({
  name: nameSchema,
  architecture: z.string(),
  zone: z.string().nullable(),
  state: nodeStateSchema,
  capacity: z.object({ cpuMilli: z.int(), memoryBytes: z.int() }),
  used: z.object({ cpuMilli: z.int(), memoryBytes: z.int() }),
  devices: z.array(snapshotDeviceSchema),
  /** Images and folders that it holds already: a tie-break. */
  images: z.array(z.string()).default([]),
  folders: z.array(z.string()).default([]),
  /** Its work has to leave (DRAINING, UNHEALTHY): since when, and when even protected work is stopped. */
  drain: z.object({ since: timestampSchema, deadline: timestampSchema.nullable() }).nullable().default(null),
  /** It is to be empty by then, for another group. What cannot be gone by then is not placed here. */
  moveAt: timestampSchema.nullable().default(null),
});

export const snapshotKernelSchema = z.object({
  id: kernelIdSchema,
  role: z.string(),
  rank: z.int(),
  slots: slotsSchema,
});

/** Where a session wants to be. All of it is optional; what is not `required` is a preference. */
export const snapshotWishesSchema = z.object({
  nodes: z.array(nameSchema).default([]),
  nodesRequired: z.boolean().default(false),
  zone: z.string().nullable().default(null),
  zoneRequired: z.boolean().default(false),
  /** Against the sessions of the same replica group. */
  spread: z.enum(['none', 'spread', 'pack']).default('none'),
  replicaGroup: z.string().nullable().default(null),
});

export const dependencySchema = z.object({
  sessionId: sessionIdSchema,
  name: z.string(),
  state: z.enum(['open', 'succeeded', 'failed']),
  onFailure: z.enum(['cancel', 'fail', 'ignore']),
});

/** A session that waits. `version` is the row's: the commit checks it. */
export const snapshotPendingSchema = z.object({
  id: sessionIdSchema,
  name: z.string(),
  version: z.int(),
  userId: z.string(),
  projectId: z.string(),
  domainId: z.string(),
  priority: z.int(),
  submittedAt: timestampSchema,
  architecture: z.string().nullable(),
  gpuModel: z.string().nullable(),
  clusterMode: z.enum(['single-node', 'multi-node']),
  kernels: z.array(snapshotKernelSchema).min(1),
  kind: sessionKindSchema.default('batch'),
  /** Attempts so far: 0 before the first. */
  attempt: z.int().default(0),
  minRuntimeSeconds: z.number().default(0),
  maxRuntimeSeconds: z.number().nullable().default(null),
  gracePeriodSeconds: z.number().default(10),
  preemptible: z.boolean().default(true),
  /** Not before this, as it was asked for. */
  startsAt: timestampSchema.nullable().default(null),
  /** Not before this, since an attempt failed; `avoid` are the nodes where attempts failed. */
  retryAt: timestampSchema.nullable().default(null),
  avoid: z.array(z.string()).default([]),
  /** What it waits for; those that are done may be left out. */
  dependsOn: z.array(dependencySchema).default([]),
  wishes: snapshotWishesSchema.prefault({}),
  image: z.string().nullable().default(null),
  folders: z.array(z.string()).default([]),
  /** How often it was tried and blocked at the head since its priority fell last, when that was counted, and since when it is blocked. */
  /** The leaf that is charged; null: none. */
  budgetId: budgetIdSchema.nullable().default(null),
  decay: z
    .object({ tries: z.int(), countedAt: timestampSchema.nullable(), blockedSince: timestampSchema.nullable() })
    .default({ tries: 0, countedAt: null, blockedSince: null }),
});

export const snapshotRoomSchema = z.object({
  kernelId: kernelIdSchema,
  node: z.string(),
  deviceIds: z.array(z.string()),
  /** Of a share, `gpuMemoryBytes` is what the device promised: of a MIG instance, all of it. */
  slots: slotsSchema,
});

/** A session that holds room: from its placement until its release. */
export const snapshotRunningSchema = z.object({
  id: sessionIdSchema,
  name: z.string(),
  version: z.int(),
  attempt: z.int(),
  userId: z.string(),
  projectId: z.string(),
  domainId: z.string(),
  kind: sessionKindSchema,
  priority: z.int(),
  submittedAt: timestampSchema,
  placedAt: timestampSchema,
  /** When all its kernels ran; null while it starts. Its minimum and maximum runtime count from here. */
  startedAt: timestampSchema.nullable(),
  /** GPUs × factor in thousandths by the factors of its booking, as it is charged; left out: by the present ones. */
  milliGpus: z.int().optional(),
  minRuntimeSeconds: z.number(),
  maxRuntimeSeconds: z.number().nullable(),
  gracePeriodSeconds: z.number(),
  preemptible: z.boolean(),
  replicaGroup: z.string().nullable().default(null),
  budgetId: budgetIdSchema.nullable().default(null),
  resumable: z.boolean().default(false),
  /** It ends already (stopped, preempted, exited): by when at the latest, its grace included. */
  goneBy: timestampSchema.nullable().default(null),
  kernels: z.array(snapshotRoomSchema).min(1),
});

const snapshotWaiterSchema = z.object({
  kind: sessionKindSchema,
  projectId: z.string(),
  preemptible: z.boolean(),
  minRuntimeSeconds: z.number(),
  gracePeriodSeconds: z.number(),
});

/** Room that is kept for a waiting session while those that were stopped for it leave. Nobody else is placed on it. */
export const snapshotHoldSchema = z.object({
  sessionId: sessionIdSchema,
  since: timestampSchema,
  victims: z.array(sessionIdSchema),
  kernels: z.array(snapshotRoomSchema).min(1),
  /** Who waits, as guarantees count it; left out: as in `pending`. The queue comes in pages, and holds count before it. */
  waiter: snapshotWaiterSchema.optional(),
});

/** Guaranteed GPUs of this group: of a project, with its id, or of deployments (`kind`), of all projects where both are ''. */
export const snapshotGuaranteeSchema = z.object({
  projectId: z.string(),
  project: z.string(),
  kind: z.literal('inference').optional(),
  gpuCount: z.int(),
  returnSeconds: z.int(),
});

/**
 * The tree of budgets with what is charged, where the group orders by fair share. GPU-time is in thousandths of a GPU ×
 * milliseconds, with the factor of the model in it. The tree spans all such groups: `committedElsewhere` is what running work
 * of the other groups is still protected for.
 */
export const snapshotBudgetsSchema = z.object({
  windowSeconds: z.int(),
  /** C: healthy GPUs × factor over the window. */
  capacity: z.int(),
  /** The open ones, the root (parentId null) among them. */
  nodes: z.array(
    z.object({
      id: budgetIdSchema,
      name: z.string(),
      parentId: budgetIdSchema.nullable(),
      domainId: z.string().nullable(),
      weight: z.int(),
    }),
  ),
  /** Leaves that have any of it; a leaf that is missing has none. */
  leaves: z.array(z.object({ id: budgetIdSchema, use: z.int(), committedElsewhere: z.int(), unallocatedUse: z.int() })),
  /** Unallocated use of sessions without a budget. */
  projects: z.array(z.object({ id: z.string(), unallocatedUse: z.int() })),
  /** Thousandths, by GPU model; 1000 where none is named. */
  factors: z.record(z.string(), z.int()),
  unallocatedGraceSeconds: z.number(),
});

export const snapshotQuotaSchema = z.object({
  scope: quotaScopeSchema,
  id: z.string(),
  name: z.string(),
  limits: quotaLimitsSchema,
  held: heldSchema,
});

/** All that a pass decides from. Saved by `berth snapshot`, planned by `berth plan`; a bug report carries one. */
export const snapshotSchema = z
  .object({
    schema: z.literal(SNAPSHOT_SCHEMA),
    takenAt: timestampSchema,
    group: z.object({ name: nameSchema, generation: z.int(), policy: groupPolicySchema }),
    nodes: z.array(snapshotNodeSchema),
    quotas: z.array(snapshotQuotaSchema),
    guarantees: z.array(snapshotGuaranteeSchema).default([]),
    /** null: the group does not order by fair share. */
    budgets: snapshotBudgetsSchema.nullable().default(null),
    /** Everybody who holds room; may be empty where the policy and the queue have no use for it (see `needsRunning`). */
    running: z.array(snapshotRunningSchema).default([]),
    holds: z.array(snapshotHoldSchema).default([]),
    /** By priority descending, then submission, then id: under fair share the pass puts them in its own order. */
    pending: z.array(snapshotPendingSchema),
  })
  .meta({ id: 'Snapshot' });
export type Snapshot = z.infer<typeof snapshotSchema>;
export type SnapshotNode = z.infer<typeof snapshotNodeSchema>;
export type SnapshotDevice = z.infer<typeof snapshotDeviceSchema>;
export type SnapshotPending = z.infer<typeof snapshotPendingSchema>;
export type SnapshotKernel = z.infer<typeof snapshotKernelSchema>;
export type SnapshotQuota = z.infer<typeof snapshotQuotaSchema>;
export type SnapshotRoom = z.infer<typeof snapshotRoomSchema>;
export type SnapshotRunning = z.infer<typeof snapshotRunningSchema>;
export type SnapshotHold = z.infer<typeof snapshotHoldSchema>;
export type SnapshotGuarantee = z.infer<typeof snapshotGuaranteeSchema>;
export type SnapshotBudgets = z.infer<typeof snapshotBudgetsSchema>;
export type SnapshotWishes = z.infer<typeof snapshotWishesSchema>;
export type Dependency = z.infer<typeof dependencySchema>;
