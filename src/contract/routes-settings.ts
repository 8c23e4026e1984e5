import { z } from 'zod';
import { createGroupSchema, groupSchema, patchGroupSchema } from './group.js';
import { pageOf, pageQuerySchema } from './page.js';
import { quotaLimitsSchema, quotaSchema, quotaScopeSchema } from './quota.js';
import { byName, dryRunQuery, type Route } from './route.js';

const quota = z.object({
  scope: quotaScopeSchema,
  name: z.string().min(1).max(130).describe('a user, domain/project (written domain~project in the path) or a domain'),
});

export const SETTINGS_ROUTES = {
  createGroup: {
    method: 'POST',
    path: '/v1/groups',
    access: 'operator',
    tag: 'groups',
    summary: 'Create a resource group',
    query: dryRunQuery,
    body: createGroupSchema,
    status: 201,
    answer: groupSchema,
    idempotent: true,
  },
  listGroups: {
    method: 'GET',
    path: '/v1/groups',
    access: 'user',
    tag: 'groups',
    summary: 'Resource groups you may use',
    query: pageQuerySchema,
    status: 200,
    answer: pageOf(groupSchema, 'GroupPage'),
  },
  getGroup: {
    method: 'GET',
    path: '/v1/groups/:name',
    access: 'user',
    tag: 'groups',
    summary: 'One group, with its policy and ETag',
    params: byName,
    status: 200,
    answer: groupSchema,
  },
  patchGroup: {
    method: 'PATCH',
    path: '/v1/groups/:name',
    access: 'operator',
    tag: 'groups',
    summary: 'Change its policy (merge patch; If-Match)',
    params: byName,
    body: patchGroupSchema,
    status: 200,
    answer: groupSchema,
  },
  listQuotas: {
    method: 'GET',
    path: '/v1/quotas',
    access: 'user',
    tag: 'quotas',
    summary: 'Quotas that bind you',
    query: pageQuerySchema,
    status: 200,
    answer: pageOf(quotaSchema, 'QuotaPage'),
  },
  getQuota: {
    method: 'GET',
    path: '/v1/quotas/:scope/:name',
    access: 'user',
    tag: 'quotas',
    summary: 'Limits and what is held',
    params: quota,
    status: 200,
    answer: quotaSchema,
  },
  putQuota: {
    method: 'PUT',
    path: '/v1/quotas/:scope/:name',
    access: 'domain-admin',
    tag: 'quotas',
    summary: 'Set the limits (If-Match)',
    params: quota,
    body: quotaLimitsSchema,
    status: 200,
    answer: quotaSchema,
  },
} as const satisfies Record<string, Route>;
