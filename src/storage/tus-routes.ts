import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { notFound, problem } from '../api/problem.js';
import { authoriseOwn } from './authorise.js';
import { limitsOf, once, type Place, placeOf, type StorageContext } from './storage-context.js';
import type { TusUploads } from './tus-uploads.js';
import { isUploadId, type UploadDone, type UploadRecord } from './upload-records.js';

const TUS = { 'tus-resumable': '1.0.0' } as const;
const SUM = /^[0-9a-f]{64}$/i;

/** `sha256` of the upload's metadata, which tus carries as `key base64, …`. */
function announced(request: FastifyRequest): string | null {
  const pairs = String(request.headers['upload-metadata'] ?? '')
    .split(',')
    .map((pair) => pair.trim().split(' '));
  const value = pairs.find(([key]) => key === 'sha256')?.[1];
  if (value === undefined) return null;
  const sha256 = Buffer.from(value, 'base64').toString().toLowerCase();
  if (!SUM.test(sha256)) throw problem('invalid_request', 'sha256 in Upload-Metadata is 64 hexadecimal digits');
  return sha256;
}

function lengthOf(request: FastifyRequest, { maxBytes }: Place): number {
  const text = String(request.headers['upload-length'] ?? '');
  if (!/^\d{1,16}$/.test(text)) throw problem('invalid_request', 'Upload-Length is needed: how many bytes it will be');
  if (Number(text) > maxBytes) throw problem('too_large', `the token allows ${maxBytes} bytes`);
  return Number(text);
}

interface Asked {
  readonly place: Place;
  readonly uploads: TusUploads;
}

async function asked(context: StorageContext, request: FastifyRequest): Promise<Asked> {
  const { volume } = request.params as { volume: string };
  const place = placeOf(context, await authoriseOwn(request, context.verifier, 'write'));
  const uploads = context.tus.get(volume);
  if (uploads === undefined || place.volume !== volume) throw problem('forbidden', 'the token is of another volume');
  return { place, uploads };
}

async function create(context: StorageContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { place, uploads } = await asked(context, request);
  if (place.parts.length === 0) throw problem('invalid_request', 'an upload needs the path of a file');
  if (place.resume === true) throw problem('forbidden', 'the token is for going on with an upload');
  const limits = limitsOf(context, place);
  const { folderId, path, jti } = place;
  const record = { folderId, path, jti, size: lengthOf(request, place), sha256: announced(request), limits };
  await context.ledger.mustStillFit(jti, record.size, limits);
  await once(context, place, async (takeEffect) => {
    reply.hijack();
    const isMade = await uploads.create(record, { request: request.raw, response: reply.raw });
    if (!isMade) throw problem('conflict', 'the upload was not begun');
    await takeEffect();
  }).catch((error: unknown) => {
    if (!reply.raw.headersSent) throw error;
  });
}

/** The upload of the URL, when the token is the one that began it, or one for going on with uploads of its path. */
async function uploadOf(context: StorageContext, request: FastifyRequest) {
  const { place, uploads } = await asked(context, request);
  const { upload: id } = request.params as { upload: string };
  const record = isUploadId(id) ? ((await uploads.readDone(id)) ?? (await uploads.read(id))) : null;
  if (record === null) throw notFound('upload');
  if (record.folderId !== place.folderId) throw problem('forbidden', 'the token is of another folder');
  if (record.path !== place.path) throw problem('forbidden', 'the token is of another path');
  if (record.jti !== place.jti && place.resume !== true) throw problem('forbidden', 'the token is of another upload');
  return { id, uploads, record };
}

const asDone = (reply: FastifyReply, status: number, { size, sha256 }: UploadRecord & Pick<UploadDone, 'sha256'>) =>
  reply
    .code(status)
    .headers({ ...TUS, 'upload-offset': String(size), 'upload-length': String(size), 'x-berth-sha256': sha256 })
    .send();

/** One that has ended says so for an hour: a client that was cut from the answer learns it. */
async function pass(context: StorageContext, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { id, uploads } = await uploadOf(context, request);
  const done = (await uploads.readDone(id)) ?? (request.method === 'DELETE' ? null : await uploads.finishIfWhole(id));
  if (done !== null) return asDone(reply, request.method === 'HEAD' ? 200 : 204, done);
  reply.hijack();
  await uploads.pass(id, { request: request.raw, response: reply.raw });
  return reply;
}

/** tus 1.0 under `/v1/uploads/<volume>`: creation, creation-with-upload, termination, expiration. */
export function addTusRoutes(app: FastifyInstance, context: StorageContext): void {
  const config = { operationId: 'write' };
  app.route({
    method: 'POST',
    url: '/v1/uploads/:volume',
    config,
    handler: async (request, reply) => {
      await create(context, request, reply);
      return reply;
    },
  });
  app.route({
    method: ['HEAD', 'PATCH', 'DELETE'],
    url: '/v1/uploads/:volume/:upload',
    config,
    handler: (request, reply) => pass(context, request, reply),
  });
  app.route({
    method: 'OPTIONS',
    url: '/v1/uploads/:volume',
    config,
    handler: async (_request, reply) =>
      reply
        .code(204)
        .headers({
          ...TUS,
          'tus-version': '1.0.0',
          'tus-extension': 'creation,creation-with-upload,termination,expiration',
        })
        .send(),
  });
}
