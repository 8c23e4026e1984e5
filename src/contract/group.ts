import { z } from 'zod';
import { groupPolicySchema, patchGroupPolicySchema } from './group-policy.js';
import { nameSchema, sessionIdSchema, timestampSchema } from './ids.js';

export * from './group-policy.js';

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
    policy: patchGroupPolicySchema.optional(),
    domains: z.array(nameSchema).max(100).optional(),
    projects: z.array(z.string().max(130)).max(100).optional(),
  })
  .meta({ id: 'PatchGroup' });
