import { z } from 'zod';
import {
  apiKeyIdSchema,
  domainIdSchema,
  nameSchema,
  projectIdSchema,
  timestampSchema,
  userIdSchema,
  userNameSchema,
} from './ids.js';

/** Roles on the whole. A domain-admin manages the people and quotas of its own domain; an operator everything. */
export const ROLES = ['user', 'domain-admin', 'operator'] as const;
export const roleSchema = z.enum(ROLES);
export type Role = z.infer<typeof roleSchema>;

export const memberRoleSchema = z.enum(['member', 'manager']);
export type MemberRole = z.infer<typeof memberRoleSchema>;

/** What a key may be used for: reading only, everything that its user may do, or asking models at the gateway and nothing else. */
export const keyScopeSchema = z.enum(['read', 'write', 'models']);

export const domainSchema = z
  .object({ id: domainIdSchema, name: nameSchema, createdAt: timestampSchema })
  .meta({ id: 'Domain' });
export const createDomainSchema = z.strictObject({ name: nameSchema }).meta({ id: 'CreateDomain' });

export const projectSchema = z
  .object({
    id: projectIdSchema,
    name: nameSchema,
    domainId: domainIdSchema,
    domain: nameSchema,
    createdAt: timestampSchema,
  })
  .meta({ id: 'Project' });
export const createProjectSchema = z
  .strictObject({ name: nameSchema, domain: nameSchema })
  .meta({ id: 'CreateProject' });

export const userSchema = z
  .object({
    id: userIdSchema,
    name: userNameSchema,
    domainId: domainIdSchema,
    domain: nameSchema,
    role: roleSchema,
    projects: z.array(z.object({ id: projectIdSchema, name: nameSchema, role: memberRoleSchema })),
    createdAt: timestampSchema,
  })
  .meta({ id: 'User' });
export const createUserSchema = z
  .strictObject({
    name: userNameSchema,
    domain: nameSchema,
    role: roleSchema.default('user'),
    projects: z
      .array(nameSchema)
      .max(100)
      .default([])
      .describe('projects of the domain that the user joins as a member'),
  })
  .meta({ id: 'CreateUser' });
export const putMemberSchema = z.strictObject({ role: memberRoleSchema.default('member') }).meta({ id: 'PutMember' });

export const apiKeySchema = z
  .object({
    id: apiKeyIdSchema,
    name: nameSchema,
    user: userNameSchema,
    userId: userIdSchema,
    scope: keyScopeSchema,
    prefix: z.string().describe('the first characters, to recognise the key by'),
    createdAt: timestampSchema,
    expiresAt: timestampSchema.nullable(),
    revokedAt: timestampSchema.nullable(),
    lastUsedAt: timestampSchema.nullable(),
  })
  .meta({ id: 'ApiKey' });
export const createApiKeySchema = z
  .strictObject({
    name: nameSchema,
    user: userNameSchema.optional().describe('whose key; your own when omitted'),
    scope: keyScopeSchema.default('write'),
    expiresInDays: z.int().min(1).max(3650).optional(),
  })
  .meta({ id: 'CreateApiKey' });
export const createdApiKeySchema = apiKeySchema
  .extend({ secret: z.string().describe('shown once, here') })
  .meta({ id: 'CreatedApiKey' });

export type Domain = z.infer<typeof domainSchema>;
export type Project = z.infer<typeof projectSchema>;
export type User = z.infer<typeof userSchema>;
export type ApiKey = z.infer<typeof apiKeySchema>;

/** Who is calling: found from the API key, once a request. `onBehalfOf` is set when an operator acts for the user. */
export interface Principal {
  readonly userId: User['id'];
  readonly userName: string;
  readonly role: Role;
  readonly domainId: Domain['id'];
  readonly domainName: string;
  readonly projects: readonly { readonly id: Project['id']; readonly name: string; readonly role: MemberRole }[];
  readonly scope: z.infer<typeof keyScopeSchema>;
  /** The operator who really made the call, when it acts for the user above. */
  readonly actingUserId: User['id'];
  readonly actingUserName: string;
}
export const whoAmISchema = z
  .object({
    userId: userIdSchema,
    user: userNameSchema,
    role: roleSchema,
    domain: nameSchema,
    projects: z.array(z.object({ id: projectIdSchema, name: nameSchema, role: memberRoleSchema })),
    scope: keyScopeSchema,
    actingUser: userNameSchema,
  })
  .meta({ id: 'WhoAmI' });
