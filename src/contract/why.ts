import { z } from 'zod';
import { timestampSchema } from './ids.js';
import { SLOT_NAMES } from './slots.js';
import { idleVerdictSchema } from './usage.js';

/** Every reason with its class, in the order of precedence: of several that hold, the first is told. */
export const REASONS = {
  misconfigured: 'never',
  no_matching_device: 'never',
  too_large_for_any_node: 'never',
  scheduled_start: 'hold',
  dependency_pending: 'hold',
  queue_paused: 'hold',
  user_quota: 'wait',
  project_quota: 'wait',
  domain_quota: 'wait',
  guaranteed_share: 'wait',
  no_schedulable_node: 'wait',
  behind_in_queue: 'wait',
  insufficient_capacity: 'wait',
  fragmented: 'wait',
  delays_reservation: 'wait',
  waiting_for_victims: 'wait',
  making_room: 'wait',
  waiting_for_room: 'wait',
  awaiting_pass: 'wait',
  placed: 'starting',
  pulling_image: 'starting',
  mounting: 'starting',
  creating: 'starting',
  loading_model: 'starting',
  waking: 'starting',
  health_check: 'starting',
  node_unreachable: 'retrying',
  backoff: 'retrying',
} as const satisfies Record<string, 'never' | 'hold' | 'wait' | 'starting' | 'retrying'>;
export type Reason = keyof typeof REASONS;
export type ReasonClass = (typeof REASONS)[Reason];
export const reasonSchema = z.enum(Object.keys(REASONS) as [Reason, ...Reason[]]);

export const REJECTIONS = [
  'insufficient_cpu',
  'insufficient_memory',
  'insufficient_gpu',
  'insufficient_gpu_memory',
  'wrong_device',
  'wrong_architecture',
  'not_ready',
  'cordoned',
  'draining',
  'unhealthy',
  'lost',
  'not_designated',
  'failed_here',
  'moves_too_soon',
  'held_for_another',
  'sharing_not_allowed',
] as const;
export type Rejection = (typeof REJECTIONS)[number];

/** What stands in the way. `scope` is user, project, domain, node, session or group; amounts are in `resource`'s unit. */
export const blockerSchema = z
  .object({
    kind: z.enum(['quota', 'capacity', 'session', 'group', 'node']),
    scope: z.string(),
    name: z.string(),
    resource: z.string().nullable(),
    need: z.int().nullable(),
    used: z.int().nullable(),
    limit: z.int().nullable(),
  })
  .meta({ id: 'Blocker' });
export type Blocker = z.infer<typeof blockerSchema>;

/** How many nodes would take it now, and why the others do not. */
export const nodeVerdictSchema = z
  .object({ fit: z.int(), rejected: z.partialRecord(z.enum(REJECTIONS), z.int()) })
  .meta({ id: 'NodeVerdict' });
export type NodeVerdict = z.infer<typeof nodeVerdictSchema>;

/** The node that lacks least of what the request needs, and what. */
export const nearestNodeSchema = z
  .object({
    node: z.string(),
    lacks: z.array(z.object({ slot: z.enum(SLOT_NAMES), need: z.int(), free: z.int() })),
  })
  .meta({ id: 'NearestNode' });
export type NearestNode = z.infer<typeof nearestNodeSchema>;

/** When it will start at the latest, if what runs keeps its bounds; `at` is null when there is no bound, and `basis` says why. */
export const expectedStartSchema = z
  .object({ at: timestampSchema.nullable(), basis: z.string() })
  .meta({ id: 'ExpectedStart' });
export type ExpectedStart = z.infer<typeof expectedStartSchema>;

/** "Why is my session not running": one object for API, CLI, SDK and Temporal's current details. */
export const whySchema = z
  .object({
    sessionId: z.string(),
    state: z.string(),
    since: timestampSchema,
    class: z.enum(['never', 'hold', 'wait', 'starting', 'retrying', 'running', 'ended']),
    reason: reasonSchema.nullable().describe('null when it runs or has ended'),
    message: z.string(),
    blockers: z.array(blockerSchema),
    queue: z.object({ name: z.string(), position: z.int().describe('1 is the head'), gpusAhead: z.int() }).nullable(),
    nodes: nodeVerdictSchema.nullable(),
    nearest: nearestNodeSchema.nullable().default(null),
    reservedNodes: z.array(z.string()).default([]).describe('nodes that are kept for it from `eta` on'),
    eta: z.object({ p50: timestampSchema, p90: timestampSchema, basis: z.string() }).nullable(),
    etaUnknownBecause: z.string().nullable(),
    idle: idleVerdictSchema.nullable().default(null).describe('while it runs under an idle policy'),
    actions: z.array(z.object({ title: z.string(), command: z.string() })),
    history: z.array(z.object({ at: timestampSchema, reason: z.string() })),
    evaluatedAt: timestampSchema,
  })
  .meta({ id: 'Why' });
export type Why = z.infer<typeof whySchema>;

export const queueEntrySchema = z
  .object({
    position: z.int(),
    sessionId: z.string(),
    name: z.string(),
    user: z.string(),
    project: z.string(),
    priority: z.int(),
    slots: z.object({ cpuMilli: z.int(), memoryBytes: z.int(), gpuCount: z.int(), gpuMemoryBytes: z.int() }),
    submittedAt: timestampSchema,
    reason: reasonSchema,
    message: z.string(),
    blockedBy: z.string().nullable(),
    gpusAhead: z.int().default(0),
    expectedStart: expectedStartSchema.nullable().default(null),
    reservedNodes: z.array(z.string()).default([]),
  })
  .meta({ id: 'QueueEntry' });
export type QueueEntry = z.infer<typeof queueEntrySchema>;
