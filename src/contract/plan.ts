import { z } from 'zod';
import { endCauseSchema } from './end-causes.js';
import { kernelIdSchema, sessionIdSchema, timestampSchema } from './ids.js';
import { quotaViolationSchema } from './quota.js';
import { slotsSchema } from './slots.js';
import { blockerSchema, expectedStartSchema, nearestNodeSchema, nodeVerdictSchema, reasonSchema } from './why.js';

export const PLAN_SCHEMA = 'berth.plan/1';

export const placedKernelSchema = z.object({
  kernelId: kernelIdSchema,
  node: z.string(),
  deviceIds: z.array(z.string()),
  /** What the ledger books. A share on a MIG instance books all of the instance: `gpuMemoryBytes` is then above what was asked. */
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
  /** The node that lacks least, and what. */
  nearest: nearestNodeSchema.nullable().default(null),
  expectedStart: expectedStartSchema.default({ at: null, basis: 'not worked out' }),
  /** Set where this pass changed them: the row gets these. `priority` is the one it has now. */
  decay: z
    .object({
      tries: z.int(),
      countedAt: timestampSchema.nullable(),
      blockedSince: timestampSchema.nullable(),
      priority: z.int(),
    })
    .nullable()
    .default(null),
});

/** Room kept in time for a session that waits. Nobody who starts ahead of it may move `at`. */
export const reservationSchema = z.object({
  sessionId: sessionIdSchema,
  at: timestampSchema,
  /** When it ends at the latest, if its maximum runtime says so. */
  until: timestampSchema.nullable(),
  basis: z.string(),
  kernels: z.array(placedKernelSchema),
});

/** A session that is told to end: for whom, or because its node drains. The commit checks `version`. */
export const stopOrderSchema = z.object({
  sessionId: sessionIdSchema,
  version: z.int(),
  attempt: z.int(),
  cause: z.enum(['preempted', 'drained']),
  /** Whom the room is for. */
  forSessionId: sessionIdSchema.nullable(),
  then: z.enum(['requeue', 'end']),
  graceSeconds: z.number(),
  /** Within its minimum runtime, by the deadline of a drain: it is not charged, and counts as a broken contract. */
  breaksMinRuntime: z.boolean(),
  message: z.string(),
});

/** Room that the ledger keeps for a waiting session while its victims leave. It replaces the session's hold, if there is one. */
export const holdOrderSchema = z.object({
  sessionId: sessionIdSchema,
  version: z.int(),
  victims: z.array(sessionIdSchema),
  kernels: z.array(placedKernelSchema).min(1),
});

/** A waiting session that will not run: what it depends on failed, or it waited for too long. The commit checks `version`. */
export const endOrderSchema = z.object({
  sessionId: sessionIdSchema,
  version: z.int(),
  state: z.enum(['CANCELLED', 'ERROR']),
  cause: endCauseSchema,
  message: z.string(),
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
    reservations: z.array(reservationSchema).default([]),
    stops: z.array(stopOrderSchema).default([]),
    holds: z.array(holdOrderSchema).default([]),
    /** Sessions whose kept room is given up: it can no longer be had, or is not needed. */
    droppedHolds: z.array(sessionIdSchema).default([]),
    ends: z.array(endOrderSchema).default([]),
    /** Nodes whose drain for a move has to begin now, so that they are empty in time. */
    drains: z.array(z.object({ node: z.string(), message: z.string() })).default([]),
    /** Nodes that drain and hold nothing more. */
    drained: z.array(z.string()).default([]),
    /** The next moment at which time alone changes a decision: no event will come for it. */
    /** Under fair share: those that wait, in the order in which they were considered. null: the queue's own order holds. */
    order: z.array(sessionIdSchema).nullable().default(null),
    nextWakeAt: timestampSchema.nullable(),
  })
  .meta({ id: 'Plan' });
export type Plan = z.infer<typeof planSchema>;
export type Placed = z.infer<typeof placedSchema>;
export type PlacedKernel = z.infer<typeof placedKernelSchema>;
export type Waiting = z.infer<typeof waitingSchema>;
export type Reservation = z.infer<typeof reservationSchema>;
export type StopOrder = z.infer<typeof stopOrderSchema>;
export type HoldOrder = z.infer<typeof holdOrderSchema>;
export type EndOrder = z.infer<typeof endOrderSchema>;
