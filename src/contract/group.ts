import { z } from 'zod';
import { nameSchema, sessionIdSchema, timestampSchema } from './ids.js';
import { SLOT_NAMES } from './slots.js';

/** How a node is chosen among those with room. See docs/scheduling.md. */
export const PLACEMENTS = ['dispersed', 'concentrated'] as const;

/** The scheduling policy of a resource group. */
export const groupPolicySchema = z
  .strictObject({
    order: z.enum(['fifo']).default('fifo'),
    placement: z.enum(PLACEMENTS).default('dispersed'),
    /** Amounts are compared slot by slot in this order, left to right. */
    slotOrder: z
      .array(z.enum(SLOT_NAMES))
      .min(1)
      .max(4)
      .default(['gpuCount', 'gpuMemoryBytes', 'cpuMilli', 'memoryBytes']),
    /** Nothing new is placed while paused; what runs goes on. */
    paused: z.boolean().default(false),
    /** A LOST node's sessions end on the ledger after this. */
    lostAfterSeconds: z.int().min(1).max(86_400).default(300),
  })
  .meta({ id: 'GroupPolicy' });
export type GroupPolicy = z.infer<typeof groupPolicySchema>;

export const groupSchema = z
  .object({
    name: nameSchema,
    policy: groupPolicySchema,
    domains: z.array(nameSchema).describe('domains that may use it; empty with no projects means everyone'),
    projects: z.array(z.string()).describe('projects that may use it, as domain/project'),
    nodes: z.int(),
    pendingSessions: z.int(),
    runningSessions: z.int(),
    blockedBy: sessionIdSchema.nullable().describe('the session whose lack of room stops the queue'),
    etag: z.string(),
    createdAt: timestampSchema,
  })
  .meta({ id: 'Group' });
export type Group = z.infer<typeof groupSchema>;

export const createGroupSchema = z
  .strictObject({
    name: nameSchema,
    policy: groupPolicySchema.prefault({}),
    domains: z.array(nameSchema).max(100).default([]),
    projects: z.array(z.string().max(130)).max(100).default([]).describe('as domain/project'),
  })
  .meta({ id: 'CreateGroup' });
/** A merge patch: what is not named stays. */
export const patchGroupSchema = z
  .strictObject({
    policy: z
      .strictObject({
        order: z.enum(['fifo']).optional(),
        placement: z.enum(PLACEMENTS).optional(),
        slotOrder: z.array(z.enum(SLOT_NAMES)).min(1).max(4).optional(),
        paused: z.boolean().optional(),
        lostAfterSeconds: z.int().min(1).max(86_400).optional(),
      })
      .optional(),
    domains: z.array(nameSchema).max(100).optional(),
    projects: z.array(z.string().max(130)).max(100).optional(),
  })
  .meta({ id: 'PatchGroup' });
