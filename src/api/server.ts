import type { Socket } from 'node:net';
import helmet from '@fastify/helmet';
import rateLimit from '@fastify/rate-limit';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify, LogController } from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import type { Refusal } from '../contract/index.js';
import { newRequestId } from '../platform/ids.js';
import type { Logger } from '../platform/log.js';
import { takeJsonBodies } from './body.js';
import { addDocs } from './docs.js';
import { methodsOf } from './known-paths.js';
import { PROBLEM_TYPE, ProblemError, problem, toProblem } from './problem.js';
import { refusalOf } from './refusal-of.js';
import { validatorCompiler } from './validate.js';

export const BODY_BYTES_MAX = 2 ** 20;
/** Longer than any proxy in front keeps an idle connection, so that it never sends into one that we close. */
const KEEP_ALIVE_MS = 75_000;
const SANE_REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

export interface ServerOptions {
  readonly log: Logger;
  readonly version: string;
  readonly requestsPerMinuteMax: number;
  readonly checkAnswers: boolean;
}

function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === 'string' && SANE_REQUEST_ID.test(header) ? header : newRequestId();
}

/** Answers a refusal with its status and headers. 429 and 503 always say when to come back. */
export function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const body = toProblem(refusal, reply.request.id);
  void reply.header('x-request-id', body.instance); // a URL that does not parse meets no hook
  if (body.retryAfterSeconds !== undefined) void reply.header('retry-after', String(body.retryAfterSeconds));
  return reply.code(body.status).type(PROBLEM_TYPE).serializer(JSON.stringify).send(body);
}

/** A client that went away cuts off what was asked for it: no part is to blame. */
const isGone = ({ socket }: FastifyRequest): boolean => socket.destroyed;

function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const refusal = refusalOf(error, request);
  if (refusal.code === 'internal') request.log.error({ err: error }, 'a request failed');
  else if (refusal.code === 'unavailable' && !isGone(request)) request.log.warn({ err: error }, 'a part was away');
  if (error instanceof ProblemError) void reply.headers(error.headers);
  if (reply.raw.headersSent) {
    reply.raw.destroy();
    return;
  }
  sendRefusal(reply, refusal);
}

function answerUnknownPath(request: FastifyRequest, reply: FastifyReply): void {
  const methods = methodsOf(request.url);
  if (methods.length === 0) {
    sendRefusal(reply, { code: 'not_found', detail: 'there is no such path', hint: 'see /docs' });
    return;
  }
  void reply.header('allow', methods.join(', '));
  sendRefusal(reply, { code: 'method_not_allowed', detail: `this path takes ${methods.join(', ')}` });
}

/** What is no HTTP at all: there is no request to answer, only a socket. */
function answerBrokenHttp(_error: Error, socket: Socket): void {
  if (!socket.writable) return;
  const body = JSON.stringify(toProblem({ code: 'invalid_request', detail: 'this is not valid HTTP' }, newRequestId()));
  const head = `HTTP/1.1 400 Bad Request\r\ncontent-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}`;
  socket.end(`${head}\r\nconnection: close\r\n\r\n${body}`);
}

/** The HTTP server without a route: limits, strict bodies, problem+json for everything, request ids, docs page. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const app = fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true }),
    exposeHeadRoutes: false,
    bodyLimit: BODY_BYTES_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: true,
    genReqId: (request) => requestIdOf(request.headers['x-request-id']),
    routerOptions: { maxParamLength: 512 },
    frameworkErrors: answerError,
    clientErrorHandler: answerBrokenHttp,
  }) as unknown as FastifyInstance;
  app.setValidatorCompiler(validatorCompiler as never);
  app.setSerializerCompiler(options.checkAnswers ? (serializerCompiler as never) : () => JSON.stringify);
  app.decorateRequest('principal', null);
  app.decorateRequest('node', null);
  app.decorateRequest('caller', '');
  takeJsonBodies(app);
  app.setErrorHandler(answerError);
  app.setNotFoundHandler(answerUnknownPath);
  app.addHook('onRequest', async (request, reply) => {
    void reply.header('x-request-id', request.id).header('cache-control', 'no-store');
  });
  await app.register(helmet, { contentSecurityPolicy: false });
  await app.register(rateLimit, {
    hook: 'preParsing',
    max: options.requestsPerMinuteMax,
    timeWindow: 60_000,
    keyGenerator: (request) => request.caller,
    errorResponseBuilder: (_request, { ttl, max }) =>
      problem('rate_limited', `more than ${max} requests in a minute`, { retryAfterSeconds: Math.ceil(ttl / 1000) }),
  });
  await addDocs(app, options.version);
  return app;
}
