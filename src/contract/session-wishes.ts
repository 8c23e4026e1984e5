import { z } from 'zod';
import { nameSchema } from './ids.js';

/** Another session that has to succeed first. */
export const dependsOnSchema = z
  .strictObject({
    session: z.string().min(1).max(130).describe('its id, or its name among those you may see'),
    onFailure: z
      .enum(['cancel', 'fail', 'ignore'])
      .default('cancel')
      .describe('when it ends otherwise: this one is CANCELLED, or ends as ERROR, or starts all the same'),
  })
  .meta({ id: 'DependsOn' });

/** How it is told that it will be stopped: a command in its main kernel, or a signal; then its grace period runs, then SIGKILL. */
export const noticeSchema = z
  .strictObject({
    signal: z.enum(['SIGTERM', 'SIGINT', 'SIGUSR1', 'SIGUSR2', 'SIGHUP']).default('SIGTERM'),
    command: z
      .array(z.string().min(1).max(32_768))
      .min(1)
      .max(1024)
      .optional()
      .describe('a checkpoint command; run instead of the signal'),
  })
  .meta({ id: 'Notice' });

/** Tries after a failure of the platform (node, pull, engine), each on another node where there is one. */
export const retrySchema = z
  .strictObject({
    maxAttempts: z.int().min(1).max(100).default(3),
    backoffSeconds: z
      .number()
      .min(0)
      .max(3600)
      .default(5)
      .describe('before the second try; doubled for each further one'),
    maxBackoffSeconds: z.number().min(0).max(86_400).default(300),
  })
  .meta({ id: 'Retry' });

export const placementWishesSchema = z
  .strictObject({
    nodes: z.array(nameSchema).max(100).default([]),
    nodesRequired: z.boolean().default(false).describe('only these nodes; else they are preferred'),
    zone: nameSchema.optional(),
    zoneRequired: z.boolean().default(false),
    spread: z
      .enum(['none', 'spread', 'pack'])
      .default('none')
      .describe('of the sessions of one replicaGroup over nodes'),
    replicaGroup: z.string().min(1).max(130).optional(),
  })
  .refine((wish) => wish.spread === 'none' || wish.replicaGroup !== undefined, {
    message: 'spread and pack are over a replicaGroup: name it',
    path: ['replicaGroup'],
  })
  .refine((wish) => !wish.nodesRequired || wish.nodes.length > 0, {
    message: 'name the nodes that are required',
    path: ['nodes'],
  })
  .refine((wish) => !wish.zoneRequired || wish.zone !== undefined, {
    message: 'name the zone that is required',
    path: ['zone'],
  })
  .meta({ id: 'PlacementWishes' });
