import { z } from 'zod';
import { kernelIdSchema, nameSchema, sessionIdSchema, timestampSchema } from './ids.js';
import { LARGEST_BYTES, LARGEST_CPU_MILLI } from './slots.js';

/**
 * REGISTERED has never reported; READY takes work; CORDONED takes nothing new; LOST has given no sign for its limit.
 * DRAINING, DRAINED and UNHEALTHY come with draining.
 */
export const NODE_STATES = ['REGISTERED', 'READY', 'CORDONED', 'LOST'] as const;
export const nodeStateSchema = z.enum(NODE_STATES);
export type NodeState = z.infer<typeof nodeStateSchema>;

/** A device as the agent found it, or as configuration declares it (then `simulated`). */
export const deviceSchema = z
  .strictObject({
    id: z.string().min(1).max(128).describe('as the container engine knows it'),
    index: z.int().min(0).max(1023),
    model: z.string().min(1).max(128),
    memoryBytes: z.int().min(1).max(LARGEST_BYTES),
    simulated: z.boolean(),
    healthy: z.boolean().default(true),
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
      deviceSchema.extend({ heldBy: z.object({ sessionId: sessionIdSchema, kernelId: kernelIdSchema }).nullable() }),
    ),
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
