import type { FastifyInstance, FastifyRequest } from 'fastify';
import { problem } from '../api/problem.js';
import { type FolderUsage, folderIdSchema, storageAdmissionSchema } from '../contract/index.js';
import { authoriseOwn } from './authorise.js';
import { limitsOf, placeOf, type StorageContext } from './storage-context.js';

const BODY_BYTES_MAX = 2 ** 20;

async function readJson(request: FastifyRequest): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.raw as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw problem('too_large', `at most ${BODY_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw problem('invalid_request', 'the body is not JSON');
  }
}

/** What the API asks, under tokens that it gives to nobody. */
export function addControlRoutes(app: FastifyInstance, context: StorageContext): void {
  /** Keeps room for what a token will write, or says 413. The token is signed only then. */
  app.post('/v1/admissions', async (request, reply) => {
    const place = placeOf(context, await authoriseOwn(request, context.verifier, 'admit'));
    const admission = storageAdmissionSchema.parse(await readJson(request));
    if (admission.folderId !== place.folderId) throw problem('forbidden', 'the token is of another folder');
    await context.ledger.admit({ ...admission, volumePath: place.volumePath });
    return reply.code(204).send();
  });

  /** Counted now, file by file. */
  app.get('/v1/usage/:id', async (request): Promise<Omit<FolderUsage, 'folder'>> => {
    const place = placeOf(context, await authoriseOwn(request, context.verifier, 'usage'));
    if (folderIdSchema.parse((request.params as { id: string }).id) !== place.folderId) {
      throw problem('forbidden', 'the token is of another folder');
    }
    const { bytes, files, directories, countedAtMs } = await context.ledger.count(place);
    const reservedBytes = context.ledger.reservedIn(place);
    return { bytes, files, directories, reservedBytes, countedAt: new Date(countedAtMs).toISOString() };
  });

  /** Answers when the clone is whole; a second request joins the first. */
  app.post('/v1/clones/:id', async (request, reply) => {
    const place = placeOf(context, await authoriseOwn(request, context.verifier, 'clone'));
    const target = folderIdSchema.parse(place.to);
    try {
      limitsOf(context, place);
      await context.clone({ ...place, parts: [] }, target);
    } finally {
      context.ledger.release(place.jti);
    }
    return reply.code(204).send();
  });
}
