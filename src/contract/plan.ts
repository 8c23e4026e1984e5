import { z } from 'zod';
import { kernelIdSchema, sessionIdSchema, timestampSchema } from './ids.js';
import { quotaViolationSchema } from './quota.js';
import { slotsSchema } from './slots.js';
import { blockerSchema, nodeVerdictSchema, reasonSchema } from './why.js';

export const PLAN_SCHEMA = 'berth.plan/1';

export const placedKernelSchema = z.object({
  kernelId: kernelIdSchema,
  node: z.string(),
  deviceIds: z.array(z.string()),
  slots: slotsSchema,
});

/** A session that gets its room: the commit books exactly this, on exactly these devices. */
export const placedSchema = z.object({
  sessionId: sessionIdSchema,
  version: z.int(),
  kernels: z.array(placedKernelSchema),
  /** One sentence: which node, and by which rule. */
  explanation: z.string(),
});

/** A session that was considered and stays waiting. Those behind a capacity-blocked one are not listed: see `blockedBy`. */
export const waitingSchema = z.object({
  sessionId: sessionIdSchema,
  version: z.int(),
  reason: reasonSchema,
  message: z.string(),
  blockers: z.array(blockerSchema),
  violations: z.array(quotaViolationSchema),
  nodes: nodeVerdictSchema.nullable(),
});

export const planSchema = z
  .object({
    schema: z.literal(PLAN_SCHEMA),
    group: z.string(),
    generation: z.int(),
    now: timestampSchema,
    placed: z.array(placedSchema),
    waiting: z.array(waitingSchema),
    /** The session whose lack of room stopped the pass: everyone behind it in the queue is SKIPPED and names it. */
    blockedBy: sessionIdSchema.nullable(),
    /** How many were not considered because of `blockedBy` (of those that the snapshot carried). */
    skipped: z.int(),
    nextWakeAt: timestampSchema.nullable(),
  })
  .meta({ id: 'Plan' });
export type Plan = z.infer<typeof planSchema>;
export type Placed = z.infer<typeof placedSchema>;
export type PlacedKernel = z.infer<typeof placedKernelSchema>;
export type Waiting = z.infer<typeof waitingSchema>;
