import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import type { OperationId, Route, RouteInput } from '../contract/index.js';
import { ROUTES } from '../contract/index.js';
import { schemaOf } from './route-schema.js';

/** What runs one request of a route, from parsed to answered. */
export interface Operation {
  readonly id: OperationId;
  readonly authenticate: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  readonly run: (input: RouteInput<OperationId>, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
}

const emptyBody = async (request: FastifyRequest): Promise<void> => {
  if (request.body === undefined) request.body = {};
};

function optionsOf(id: OperationId, route: Route, operation: Operation): RouteShorthandOptions {
  return {
    schema: schemaOf(id, route),
    config: { operationId: id },
    onRequest: operation.authenticate,
    ...(route.method === 'GET' ? {} : { preValidation: emptyBody }),
  };
}

/** One Fastify route for each row of the table; `operation` says what it does. */
export function addRoutes(app: FastifyInstance, operation: (id: OperationId, route: Route) => Operation): void {
  for (const [id, route] of Object.entries<Route>(ROUTES) as [OperationId, Route][]) {
    const it = operation(id, route);
    app.route({
      method: route.method,
      url: route.path,
      ...optionsOf(id, route, it),
      handler: async (request, reply) => {
        const input = { params: request.params, query: request.query, body: request.body };
        void reply.code(route.status); // a dry run, a refusal and a stream set their own
        const answer = await it.run(input as RouteInput<OperationId>, request, reply);
        if (route.answer === 'stream' || reply.sent) return reply;
        return reply.send(answer);
      },
    });
  }
}
