import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify, LogController } from 'fastify';
import { PROBLEM_TYPE, ProblemError, problem, toProblem } from '../api/problem.js';
import { newRequestId } from '../platform/ids.js';
import type { Logger } from '../platform/log.js';
import { refusalOfError } from './refusal-of.js';

function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const refusal = refusalOfError(error);
  if (refusal.code === 'internal' && !request.raw.destroyed) request.log.error({ err: error }, 'a transfer failed');
  if (error instanceof ProblemError) void reply.headers(error.headers);
  const body = toProblem(refusal, request.id);
  if (body.retryAfterSeconds !== undefined) void reply.header('retry-after', String(body.retryAfterSeconds));
  if (!request.raw.complete) void reply.header('connection', 'close'); // the rest of an upload is not worth reading
  const status = reply.hasHeader('content-range') ? 416 : body.status;
  void reply.code(status).type(PROBLEM_TYPE).removeHeader('content-length').send(JSON.stringify(body));
}

/** Bodies are streamed, never parsed; errors are problem+json. */
export function storageServer(log: Logger): FastifyInstance {
  const app = fastify({
    loggerInstance: log,
    genReqId: newRequestId,
    logController: new LogController({ disableRequestLogging: true }),
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 8_192 },
    frameworkErrors: answerError,
  }) as unknown as FastifyInstance;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.setErrorHandler(answerError);
  app.setNotFoundHandler((request, reply) =>
    answerError(problem('not_found', 'there is no such path'), request, reply),
  );
  app.addHook('onRequest', async (request, reply) => {
    void reply.header('x-request-id', request.id).header('cache-control', 'no-store');
  });
  return app;
}
