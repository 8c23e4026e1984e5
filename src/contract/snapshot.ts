import { z } from 'zod';
import { groupPolicySchema } from './group.js';
import { kernelIdSchema, nameSchema, sessionIdSchema, timestampSchema } from './ids.js';
import { nodeStateSchema } from './node.js';
import { heldSchema, quotaLimitsSchema, quotaScopeSchema } from './quota.js';
import { slotsSchema } from './slots.js';

export const SNAPSHOT_SCHEMA = 'berth.snapshot/1';

export const snapshotDeviceSchema = z.object({
  id: z.string(),
  model: z.string(),
  memoryBytes: z.int(),
  simulated: z.boolean(),
  healthy: z.boolean(),
  /** The kernel that holds it whole, or null. */
  heldBy: z.string().nullable(),
});

export const snapshotNodeSchema = z.object({
  name: nameSchema,
  architecture: z.string(),
  zone: z.string().nullable(),
  state: nodeStateSchema,
  capacity: z.object({ cpuMilli: z.int(), memoryBytes: z.int() }),
  used: z.object({ cpuMilli: z.int(), memoryBytes: z.int() }),
  devices: z.array(snapshotDeviceSchema),
});

export const snapshotKernelSchema = z.object({
  id: kernelIdSchema,
  role: z.string(),
  rank: z.int(),
  slots: slotsSchema,
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
    /** In queue order: priority descending, then submission, then id. */
    pending: z.array(snapshotPendingSchema),
  })
  .meta({ id: 'Snapshot' });
export type Snapshot = z.infer<typeof snapshotSchema>;
export type SnapshotNode = z.infer<typeof snapshotNodeSchema>;
export type SnapshotDevice = z.infer<typeof snapshotDeviceSchema>;
export type SnapshotPending = z.infer<typeof snapshotPendingSchema>;
export type SnapshotKernel = z.infer<typeof snapshotKernelSchema>;
export type SnapshotQuota = z.infer<typeof snapshotQuotaSchema>;
