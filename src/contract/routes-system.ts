import { z } from 'zod';
import type { Route } from './route.js';

export const SYSTEM_ROUTES = {
  health: {
    method: 'GET',
    path: '/v1/health',
    access: 'user',
    tag: 'system',
    summary: 'Parts and whether they are reachable',
    status: 200,
    answer: z
      .object({
        version: z.string(),
        parts: z.array(z.object({ name: z.string(), ok: z.boolean(), detail: z.string() })),
      })
      .meta({ id: 'Health' }),
  },
  liveness: {
    method: 'GET',
    path: '/healthz',
    access: 'anyone',
    tag: 'system',
    summary: 'The process answers',
    status: 200,
    answer: z.object({ ok: z.literal(true) }),
  },
  metrics: {
    method: 'GET',
    path: '/metrics',
    access: 'operator',
    tag: 'system',
    summary: 'Prometheus text',
    status: 200,
    answer: 'stream',
  },
} as const satisfies Record<string, Route>;
