import { z } from 'zod';
import { pageOf, pageQuerySchema } from './page.js';
import { byName, type Route } from './route.js';
import { nodeUsageAnswerSchema, nodeUsageSchema, sessionUsageSchema } from './usage.js';

export const USAGE_ROUTES = {
  listUsage: {
    method: 'GET',
    path: '/v1/usage',
    access: 'user',
    tag: 'sessions',
    summary: 'Live use of running sessions, with their devices and how idle they are',
    query: pageQuerySchema.extend({
      group: z.string().max(63).optional(),
      project: z.string().max(130).optional(),
      user: z.string().max(63).optional(),
    }),
    status: 200,
    answer: pageOf(sessionUsageSchema, 'SessionUsagePage'),
  },
  reportNodeUsage: {
    method: 'POST',
    path: '/v1/nodes/:name/usage',
    access: 'node',
    tag: 'agents',
    summary: 'What the node measured of its kernels and devices, in one batch',
    params: byName,
    body: nodeUsageSchema,
    status: 200,
    answer: nodeUsageAnswerSchema,
  },
} as const satisfies Record<string, Route>;
