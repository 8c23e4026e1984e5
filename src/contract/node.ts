import { z } from 'zod';
import { kernelIdSchema, nameSchema, sessionIdSchema, timestampSchema } from './ids.js';
import { imageSchema } from './image.js';
import { LARGEST_BYTES, LARGEST_CPU_MILLI } from './slots.js';

/**
 * REGISTERED has never reported; READY takes work; CORDONED takes nothing new; DRAINING takes nothing new and its work
 * leaves as minimum runtimes expire; DRAINED holds nothing more; UNHEALTHY (by checks or by hand) drains too; LOST has given
 * no sign for its limit. Of several that hold, the last in this list is shown.
 */
export const NODE_STATES = ['REGISTERED', 'READY', 'CORDONED', 'DRAINING', 'DRAINED', 'UNHEALTHY', 'LOST'] as const;
export const nodeStateSchema = z.enum(NODE_STATES);
export type NodeState = z.infer<typeof nodeStateSchema>;

/**
 * What keeps a share of a device to its memory: `mig`: the device is one hardware instance, for one share; `mps`: a pinned
 * memory limit and a part of the threads; `memory-limit`: the driver; `none`: nothing, so the group must allow it.
 */
export const SHARINGS = ['mig', 'mps', 'memory-limit', 'none'] as const;
export const sharingSchema = z.enum(SHARINGS);
export type Sharing = z.infer<typeof sharingSchema>;

/** What a device promises to who has it: memory limit enforced or not, compute alone, in turns or together, faults kept apart or not. */
export const guaranteesSchema = z
  .object({
    memory: z.enum(['enforced', 'not-enforced']),
    compute: z.enum(['exclusive', 'in-turns', 'together']),
    faults: z.enum(['isolated', 'shared']),
  })
  .meta({ id: 'DeviceGuarantees' });
export type DeviceGuarantees = z.infer<typeof guaranteesSchema>;

/** A device as the agent found it, or as configuration declares it (then `simulated`). */
export const deviceSchema = z
  .strictObject({
    id: z.string().min(1).max(128).describe('as the container engine knows it'),
    index: z.int().min(0).max(1023),
    model: z.string().min(1).max(128),
    memoryBytes: z.int().min(1).max(LARGEST_BYTES),
    simulated: z.boolean(),
    healthy: z.boolean().default(true),
    sharing: sharingSchema.default('none'),
    parentId: z.string().max(128).nullable().default(null).describe('of a MIG instance: the GPU that it is a part of'),
  })
  .meta({ id: 'Device' });
export type Device = z.infer<typeof deviceSchema>;

export const nodeCapacitySchema = z
  .strictObject({ cpuMilli: z.int().min(1).max(LARGEST_CPU_MILLI), memoryBytes: z.int().min(1).max(LARGEST_BYTES) })
  .meta({ id: 'NodeCapacity' });

export const nodeSchema = z
  .object({
    name: nameSchema,
    group: nameSchema,
    state: nodeStateSchema,
    stateReason: z.string().nullable(),
    architecture: z.string(),
    zone: z.string().nullable(),
    capacity: nodeCapacitySchema,
    used: nodeCapacitySchema.or(z.object({ cpuMilli: z.int(), memoryBytes: z.int() })),
    devices: z.array(
      deviceSchema.extend({
        heldBy: z
          .object({ sessionId: sessionIdSchema, kernelId: kernelIdSchema })
          .nullable()
          .describe('who has it whole'),
        shares: z
          .array(z.object({ sessionId: sessionIdSchema, kernelId: kernelIdSchema, memoryBytes: z.int() }))
          .default([]),
      }),
    ),
    images: z.array(z.string()).default([]).describe('references and digests that it holds'),
    drain: z
      .object({
        since: timestampSchema,
        reason: z.string(),
        actor: z.string(),
        deadline: timestampSchema.nullable().describe('then even protected work is stopped'),
        emptyAt: timestampSchema
          .nullable()
          .describe('the latest end of a minimum runtime, plus grace; null when empty'),
        remaining: z.int().describe('sessions that it still holds'),
      })
      .nullable()
      .default(null),
    move: z
      .object({ toGroup: nameSchema, at: timestampSchema, repeat: z.enum(['none', 'daily', 'weekly']) })
      .nullable()
      .default(null)
      .describe('the next move to another group: it is empty by then'),
    simulated: z.boolean().describe('true when its devices are declared, not found'),
    lastSeenAt: timestampSchema
      .nullable()
      .describe(
        'its last report; its beat goes elsewhere, so an old report says nothing: `state` tells whether it is there',
      ),
    createdAt: timestampSchema,
    agentVersion: z.string().nullable(),
  })
  .meta({ id: 'Node' });
export type Node = z.infer<typeof nodeSchema>;

export const createNodeSchema = z
  .strictObject({ name: nameSchema, group: nameSchema, zone: nameSchema.optional() })
  .meta({ id: 'CreateNode' });
export const createdNodeSchema = z
  .object({ name: nameSchema, group: nameSchema, token: z.string().describe("the agent's token, shown once, here") })
  .meta({ id: 'CreatedNode' });

export const drainNodeSchema = z
  .strictObject({
    reason: z.string().max(500).default('by hand'),
    deadlineSeconds: z.int().min(0).max(31_536_000).optional().describe('then even protected work is stopped'),
  })
  .meta({ id: 'DrainNode' });

/** Who stops when on a node that drains, from `?dryRun=true` or of a drain that is under way. */
export const drainPlanSchema = z
  .object({
    node: nameSchema,
    emptyAt: timestampSchema.nullable().describe('null: it holds nothing'),
    stops: z.array(
      z.object({
        sessionId: sessionIdSchema,
        name: z.string(),
        user: z.string(),
        project: z.string(),
        gpuCount: z.int(),
        stopAt: timestampSchema.describe('when it is told to end'),
        goneBy: timestampSchema.describe('stopAt plus its grace period'),
        because: z.string(),
        then: z.enum(['requeue', 'end']),
        breaksMinRuntime: z.boolean().describe('the deadline stops it within its minimum runtime'),
      }),
    ),
  })
  .meta({ id: 'DrainPlan' });
export type DrainPlan = z.infer<typeof drainPlanSchema>;

export const moveNodeSchema = z
  .strictObject({
    toGroup: nameSchema,
    at: timestampSchema.optional().describe('empty and moved by then; without it, it drains now'),
    repeat: z.enum(['none', 'daily', 'weekly']).default('none'),
    deadlineSeconds: z
      .int()
      .min(0)
      .max(31_536_000)
      .optional()
      .describe('after its start the drain stops even protected work'),
  })
  .meta({ id: 'MoveNode' });

export const warmNodeSchema = z.strictObject({ images: z.array(imageSchema).min(1).max(50) }).meta({ id: 'WarmNode' });
