import type { FastifyInstance } from 'fastify';
import { Histogram, type Registry } from 'prom-client';

declare module 'fastify' {
  interface FastifyContextConfig {
    operationId?: string;
  }
}

/** `berth_http_request_seconds`, by operation and status. A stream counts when it ends. */
export function measureRequests(app: FastifyInstance, registry: Registry): void {
  const seconds = new Histogram({
    name: 'berth_http_request_seconds',
    help: 'Time to answer a request',
    labelNames: ['operation', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60],
    registers: [registry],
  });
  app.addHook('onResponse', async (request, reply) => {
    const operation = request.routeOptions.config.operationId ?? 'other';
    seconds.observe({ operation, status: String(reply.statusCode) }, reply.elapsedTime / 1000);
  });
}
