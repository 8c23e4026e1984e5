import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify, LogController } from 'fastify';
import type { JSONWebKeySet } from 'jose';
import type { Registry } from 'prom-client';
import { measureRequests } from '../api/measure-requests.js';
import { PROBLEM_TYPE, ProblemError, problem, toProblem } from '../api/problem.js';
import type { Refusal, StorageOperation } from '../contract/index.js';
import { newRequestId } from '../platform/ids.js';
import type { Logger } from '../platform/log.js';
import { createTokenVerifier } from '../platform/tokens.js';
import { type Allowed, authorise } from './authorise.js';
import { announcedSha256 } from './digest-header.js';
import { download, type FilePlace } from './download.js';
import { listFolder } from './list-folder.js';
import { refusalOfFile } from './refusal-of.js';
import { removePath } from './remove.js';
import { clearParts, upload } from './upload.js';
import { createUsedTokens } from './used-tokens.js';

export interface StorageDeps {
  /** Name → directory on this machine. */
  readonly volumes: Readonly<Record<string, string>>;
  readonly verifyKeys: JSONWebKeySet;
  readonly log: Logger;
  readonly registry: Registry;
}

const isTrue = (value: unknown): boolean => value === 'true' || value === '1' || value === '';

function refusalOf(error: unknown): Refusal {
  if (error instanceof ProblemError) return error.refusal;
  const refusal = refusalOfFile(error);
  if (refusal !== null) return refusal;
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  if (status < 500) return { code: status === 404 ? 'not_found' : 'invalid_request', detail: (error as Error).message };
  return { code: 'internal', detail: 'the storage proxy failed; its log says more' };
}

function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const refusal = refusalOf(error);
  if (refusal.code === 'internal' && !request.raw.destroyed) request.log.error({ err: error }, 'a transfer failed');
  if (error instanceof ProblemError) void reply.headers(error.headers);
  const body = toProblem(refusal, request.id);
  if (body.retryAfterSeconds !== undefined) void reply.header('retry-after', String(body.retryAfterSeconds));
  if (!request.raw.complete) void reply.header('connection', 'close'); // the rest of an upload is not worth reading
  const status = reply.hasHeader('content-range') ? 416 : body.status;
  void reply.code(status).type(PROBLEM_TYPE).removeHeader('content-length').send(JSON.stringify(body));
}

function server(log: Logger): FastifyInstance {
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
  app.addContentTypeParser('*', (_request, _payload, done) => done(null)); // bytes are streamed, never parsed
  app.setErrorHandler(answerError);
  app.setNotFoundHandler((request, reply) =>
    answerError(problem('not_found', 'there is no such path'), request, reply),
  );
  app.addHook('onRequest', async (request, reply) => {
    void reply.header('x-request-id', request.id).header('cache-control', 'no-store');
  });
  return app;
}

/** Bytes of folders, under the API's signed tokens: PUT, GET, HEAD and DELETE of `/v1/folders/<id>/<path>`, `?list=true`. */
export async function createStorageProxy({
  volumes,
  verifyKeys,
  log,
  registry,
}: StorageDeps): Promise<FastifyInstance> {
  await Promise.all(Object.values(volumes).map(clearParts));
  const verifier = createTokenVerifier(verifyKeys, 'storage');
  const used = createUsedTokens(() => Date.now() / 1000);
  const app = server(log);
  measureRequests(app, registry);

  const allow = async (request: FastifyRequest, operation: StorageOperation): Promise<Allowed & FilePlace> => {
    const { id: folderId, '*': path = '' } = request.params as { id: string; '*'?: string };
    const allowed = await authorise(request, verifier, { folderId, path, operation });
    const volumePath = volumes[allowed.volume];
    if (volumePath === undefined) throw problem('forbidden', `the volume ${allowed.volume} is not served here`);
    return { ...allowed, volumePath };
  };

  const put = async (request: FastifyRequest, reply: FastifyReply) => {
    const place = await allow(request, 'write');
    if (place.parts.length === 0) throw problem('invalid_request', 'an upload needs the path of a file');
    if (Number(request.headers['content-length'] ?? 0) > place.maxBytes) {
      throw problem('too_large', `the token allows ${place.maxBytes} bytes`);
    }
    if (!used.take(place.jti, place.expiresAtSeconds)) throw problem('unauthenticated', 'the token is used up');
    try {
      const expectedSha256 = announcedSha256(request.headers);
      return await reply.code(201).send(await upload({ ...place, bytes: request.raw, expectedSha256 }));
    } catch (error) {
      used.giveBack(place.jti);
      throw error;
    }
  };

  const get = async (request: FastifyRequest, reply: FastifyReply) => {
    const { list, checksum } = request.query as { list?: string; checksum?: string };
    if (isTrue(list)) return listFolder(await allow(request, 'list'));
    const wantsChecksum = isTrue(checksum) || isTrue(request.headers['x-berth-checksum']);
    const place = await allow(request, 'read');
    if (place.parts.length === 0) throw problem('invalid_request', 'a download needs the path of a file');
    await download(place, { request, reply, wantsChecksum });
    return reply;
  };

  const remove = async (request: FastifyRequest, reply: FastifyReply) => {
    await removePath(await allow(request, 'delete'));
    return reply.code(204).send();
  };

  for (const url of ['/v1/folders/:id', '/v1/folders/:id/*']) {
    app.route({ method: 'PUT', url, handler: put, config: { operationId: 'write' } });
    app.route({ method: ['GET', 'HEAD'], url, handler: get, config: { operationId: 'read' } });
    app.route({ method: 'DELETE', url, handler: remove, config: { operationId: 'delete' } });
  }
  app.get('/healthz', async () => ({ ok: true }));
  return app;
}
