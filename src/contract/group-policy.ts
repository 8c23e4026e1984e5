import { z } from 'zod';
import { idlePolicySchema } from './idle-policy.js';
import { SESSION_KINDS } from './session-kinds.js';
import { SLOT_NAMES } from './slots.js';

/** `fair-share`: by the budgets' use of GPU-time (docs/budgets.md); it backfills and stops by budgets, whatever `backfill` and `preemption` say. */
export const ORDERS = ['fifo', 'fair-share'] as const;
/** How a node is chosen among those with room. See docs/scheduling.md. */
export const PLACEMENTS = ['dispersed', 'concentrated', 'least-allocated', 'best-fit-devices'] as const;
/** Who may start ahead of a session that waits for room. */
export const BACKFILLS = ['none', 'easy', 'conservative'] as const;
export const VICTIM_SCOPES = ['user', 'project', 'domain', 'group'] as const;
export const VICTIM_ORDERS = ['newest', 'oldest', 'least-lost-work'] as const;

const seconds = z.int().min(1).max(31_536_000);

/** A session that was blocked by capacity at the head, and really tried, loses `step` of its priority, not below 0. */
const decay = z.strictObject({
  by: z.enum(['off', 'attempts', 'time']).default('attempts'),
  after: z.int().min(1).max(1000).default(5).describe('passes in which it was tried and blocked (by: attempts)'),
  afterSeconds: seconds.default(600).describe('time blocked at the head (by: time)'),
  step: z.int().min(1).max(100).default(10),
});

/** Whom a request may stop. What is stopped is told `gracePeriodSeconds` ahead, then removed. */
const preemption = z.strictObject({
  enabled: z.boolean().default(false),
  mode: z.enum(['terminate', 'requeue']).default('requeue').describe('what becomes of a session that is stopped'),
  scope: z
    .enum(VICTIM_SCOPES)
    .default('user')
    .describe('victims belong to the same user, project or domain, or anyone'),
  order: z.enum(VICTIM_ORDERS).default('newest').describe('who is stopped first among the lowest priority'),
});

/**
 * GPUs of the group that a project, or the replicas of deployments, can always have within `returnSeconds`. Unused, they are lent
 * to work that can be stopped by then.
 */
const guarantee = z
  .strictObject({
    project: z.string().max(130).optional().describe('as domain/project; of every project, with a kind, when omitted'),
    kind: z.literal('inference').optional().describe('only for replicas of deployments (sessions of kind inference)'),
    gpuCount: z.int().min(1).max(100_000),
    returnSeconds: z.int().min(0).max(31_536_000).default(300),
  })
  .refine(({ project, kind }) => project !== undefined || kind !== undefined, {
    message: 'name the project, or kind: inference for the deployments of all projects',
    path: ['project'],
  });

/** The fields of a group's policy, without their defaults. `patchGroup` takes the same, each one optional. */
const fields = {
  order: z.enum(ORDERS),
  placement: z.enum(PLACEMENTS),
  /** Amounts are compared slot by slot in this order, left to right. */
  slotOrder: z.array(z.enum(SLOT_NAMES)).min(1).max(4),
  backfill: z.enum(BACKFILLS),
  decay,
  preemption,
  guarantees: z
    .array(guarantee)
    .max(1000)
    .refine(
      (list) => new Set(list.map(({ project, kind }) => `${kind}@${project}`)).size === list.length,
      'each stands once',
    ),
  /** A waiting session is cancelled after this; null: it waits as long as it takes. */
  maxWaitSeconds: seconds.nullable(),
  /** Of the whole group; one more is refused at submission. */
  maxPendingSessions: z.int().min(0).max(1_000_000).nullable(),
  /** Largest maxRuntime by kind; a session that names none gets it. */
  maxRuntimeSeconds: z.partialRecord(z.enum(SESSION_KINDS), seconds),
  /** Which running sessions are reclaimed as idle, by kind; of a kind that is not named none is. Replaced whole. */
  idle: z.partialRecord(z.enum(SESSION_KINDS), idlePolicySchema),
  /** Shares on devices whose memory limit nothing enforces. */
  allowUnenforcedSharing: z.boolean(),
  /** Failed starts of that many different sessions in a row cordon a node. 0: never. */
  blackHoleFailures: z.int().min(0).max(1000),
  /** Nothing new is placed while paused; what runs goes on. */
  paused: z.boolean(),
  /** A LOST node's sessions end on the ledger after this. */
  lostAfterSeconds: z.int().min(1).max(86_400),
};

/** The scheduling policy of a resource group. */
export const groupPolicySchema = z
  .strictObject({
    order: fields.order.default('fifo'),
    placement: fields.placement.default('dispersed'),
    slotOrder: fields.slotOrder.default(['gpuCount', 'gpuMemoryBytes', 'cpuMilli', 'memoryBytes']),
    backfill: fields.backfill.default('none'),
    decay: fields.decay.prefault({}),
    preemption: fields.preemption.prefault({}),
    guarantees: fields.guarantees.default([]),
    maxWaitSeconds: fields.maxWaitSeconds.default(null),
    maxPendingSessions: fields.maxPendingSessions.default(null),
    maxRuntimeSeconds: fields.maxRuntimeSeconds.default({}),
    idle: fields.idle.default({}),
    allowUnenforcedSharing: fields.allowUnenforcedSharing.default(false),
    blackHoleFailures: fields.blackHoleFailures.default(3),
    paused: fields.paused.default(false),
    lostAfterSeconds: fields.lostAfterSeconds.default(300),
  })
  .meta({ id: 'GroupPolicy' });
export type GroupPolicy = z.infer<typeof groupPolicySchema>;

const partial = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject(shape).partial();
/** A merge patch: what is not named stays, in `decay` and `preemption` too. */
export const patchGroupPolicySchema = partial({
  ...fields,
  decay: partial({
    by: decay.shape.by.unwrap(),
    after: decay.shape.after.unwrap(),
    afterSeconds: decay.shape.afterSeconds.unwrap(),
    step: decay.shape.step.unwrap(),
  }),
  preemption: partial({
    enabled: preemption.shape.enabled.unwrap(),
    mode: preemption.shape.mode.unwrap(),
    scope: preemption.shape.scope.unwrap(),
    order: preemption.shape.order.unwrap(),
  }),
});
export type PatchGroupPolicy = z.infer<typeof patchGroupPolicySchema>;
