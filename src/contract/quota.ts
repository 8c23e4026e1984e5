import { z } from 'zod';
import { LARGEST_BYTES, LARGEST_CPU_MILLI, LARGEST_GPU_COUNT } from './slots.js';

export const QUOTA_SCOPES = ['user', 'project', 'domain'] as const;
export const quotaScopeSchema = z.enum(QUOTA_SCOPES);
export type QuotaScopeKind = z.infer<typeof quotaScopeSchema>;

/**
 * Only named limits bind. `sessions` counts from placement to release, `pendingSessions` those that wait. `folders` and
 * `folderBytes` bind what the user or project owns, of a domain all in it: those in the trash count until they are purged.
 */
export const quotaLimitsSchema = z
  .strictObject({
    cpuMilli: z.int().min(0).max(LARGEST_CPU_MILLI).optional(),
    memoryBytes: z.int().min(0).max(LARGEST_BYTES).optional(),
    gpuCount: z.int().min(0).max(LARGEST_GPU_COUNT).optional(),
    gpuMemoryBytes: z.int().min(0).max(LARGEST_BYTES).optional(),
    sessions: z.int().min(0).max(1_000_000).optional(),
    pendingSessions: z.int().min(0).max(1_000_000).optional(),
    folders: z.int().min(0).max(1_000_000).optional(),
    folderBytes: z.int().min(0).max(LARGEST_BYTES).optional(),
  })
  .meta({ id: 'QuotaLimits' });
export type QuotaLimits = z.infer<typeof quotaLimitsSchema>;

export const QUOTA_SLOTS = ['cpuMilli', 'memoryBytes', 'gpuCount', 'gpuMemoryBytes', 'sessions'] as const;
export type QuotaSlot = (typeof QUOTA_SLOTS)[number];

/** Held amounts are what is promised from placement to release. */
export const heldSchema = z
  .object({
    cpuMilli: z.int(),
    memoryBytes: z.int(),
    gpuCount: z.int(),
    gpuMemoryBytes: z.int(),
    sessions: z.int(),
  })
  .meta({ id: 'Held' });
export type Held = z.infer<typeof heldSchema>;

export const quotaSchema = z
  .object({
    scope: quotaScopeSchema,
    name: z.string(),
    limits: quotaLimitsSchema,
    held: heldSchema,
    pendingSessions: z.int(),
    etag: z.string(),
  })
  .meta({ id: 'Quota' });
export type Quota = z.infer<typeof quotaSchema>;

/** One exceeded limit: held + requested − limit = overBy > 0. */
export const quotaViolationSchema = z
  .object({
    scope: quotaScopeSchema,
    name: z.string(),
    slot: z.enum([...QUOTA_SLOTS, 'pendingSessions']),
    held: z.int(),
    requested: z.int(),
    limit: z.int(),
    overBy: z.int(),
  })
  .meta({ id: 'QuotaViolation' });
export type QuotaViolation = z.infer<typeof quotaViolationSchema>;
