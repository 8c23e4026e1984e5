import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../api/problem.js';
import { ARCHIVE_TYPES, type ArchiveKind, archiveTree } from './archive.js';
import { partsOf } from './authorise.js';
import { announcedSha256 } from './digest-header.js';
import { download } from './download.js';
import { listFolder, statEntry } from './list-folder.js';
import { move } from './move.js';
import { removePath } from './remove.js';
import { allow, limitsOf, once, type Place, type StorageContext } from './storage-context.js';
import { treeSum } from './tree-sum.js';
import { makeDirectory, unpackTar } from './unpack-tar.js';
import { upload } from './upload.js';
import { walkTree } from './walk.js';

type Query = Readonly<Record<string, string | readonly string[] | undefined>>;
const isTrue = (value: unknown): boolean => value === 'true' || value === '1' || value === '';
const queryOf = (request: FastifyRequest): Query => request.query as Query;

function mustBeFile({ parts }: Place, what: string): void {
  if (parts.length === 0) throw problem('invalid_request', `${what} needs the path of a file`);
}
function mustFitToken(request: FastifyRequest, { maxBytes }: Place): void {
  if (Number(request.headers['content-length'] ?? 0) <= maxBytes) return;
  throw problem('too_large', `the token allows ${maxBytes} bytes`);
}

/** Bytes that come in one request, of a file or of a tar: counted against the limits as they come, and once more before they appear. */
async function receiving<Result>(
  context: StorageContext,
  { place, request }: { readonly place: Place; readonly request: FastifyRequest },
  receive: (how: { mustFit: (bytes: number) => void; beforePlace: () => Promise<void> }) => Promise<Result>,
): Promise<Result> {
  mustFitToken(request, place);
  return once(context, place, async (takeEffect) => {
    const limits = limitsOf(context, place);
    let bytes = 0;
    try {
      return await receive({
        mustFit(soFar) {
          bytes = soFar;
          if (limits.length > 0) context.ledger.mustFitSoFar(place.jti, soFar, limits);
        },
        async beforePlace() {
          await context.ledger.mustStillFit(place.jti, bytes, limits);
          await takeEffect();
        },
      });
    } finally {
      context.ledger.release(place.jti);
    }
  });
}

async function put(context: StorageContext, request: FastifyRequest, reply: FastifyReply) {
  const place = await allow(context, request, 'write');
  mustBeFile(place, 'an upload');
  if (place.resume === true) throw problem('forbidden', 'the token is for going on with an upload');
  const uploaded = await receiving(context, { place, request }, async (how) =>
    upload(context, { ...place, ...how, bytes: request.raw, expectedSha256: announcedSha256(request.headers) }),
  );
  return reply.code(201).send(uploaded);
}

const chosenOf = ({ select }: Query): readonly string[] => {
  const paths = select === undefined ? [] : [select].flat();
  for (const path of paths) partsOf(path);
  return paths;
};

async function sendArchive(
  context: StorageContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const kind = String(queryOf(request)['archive']);
  if (!Object.hasOwn(ARCHIVE_TYPES, kind)) throw problem('invalid_request', 'archive is tar or zip');
  const place = await allow(context, request, 'read');
  const chosen = chosenOf(queryOf(request));
  await walkTree(place, () => 'stop'); // what is not there is refused before the answer begins
  void reply.type(ARCHIVE_TYPES[kind as ArchiveKind]);
  return reply.send(archiveTree(place, kind as ArchiveKind, chosen));
}

async function get(context: StorageContext, request: FastifyRequest, reply: FastifyReply) {
  const { list, depth, stat, archive, checksum, items } = queryOf(request);
  if (isTrue(list)) return listFolder(await allow(context, request, 'list'), depth === '1');
  if (isTrue(stat)) return statEntry(await allow(context, request, 'list'));
  if (archive !== undefined) return sendArchive(context, request, reply);
  const place = await allow(context, request, 'read');
  if (checksum === 'tree') return treeSum(place, context.sums, isTrue(items));
  mustBeFile(place, 'a download');
  const wantsChecksum = isTrue(checksum) || isTrue(request.headers['x-berth-checksum']);
  await download(place, { request, reply, wantsChecksum, sums: context.sums });
  return reply;
}

async function remove(context: StorageContext, request: FastifyRequest, reply: FastifyReply) {
  const place = await allow(context, request, 'delete');
  await once(context, place, async (takeEffect) => {
    await takeEffect();
    await removePath(context.ledger, place);
  });
  return reply.code(204).send();
}

async function change(context: StorageContext, request: FastifyRequest, reply: FastifyReply) {
  const { mkdir, move: moves, unpack } = queryOf(request);
  if (isTrue(mkdir)) {
    const place = await allow(context, request, 'mkdir');
    mustBeFile(place, 'a new folder');
    await once(context, place, async (takeEffect) => {
      await takeEffect();
      await makeDirectory(context, place);
    });
    return reply.code(201).send({ path: place.parts.join('/') });
  }
  if (isTrue(moves)) {
    const place = await allow(context, request, 'move');
    mustBeFile(place, 'a move');
    const to = partsOf(place.to ?? '');
    if (to.length === 0) throw problem('invalid_request', 'the token names no target');
    await once(context, place, async (takeEffect) => {
      await takeEffect();
      await move(context.ledger, place, to);
    });
    return { path: to.join('/') };
  }
  if (unpack !== 'tar') throw problem('invalid_request', 'say ?mkdir, ?move or ?unpack=tar');
  const place = await allow(context, request, 'unpack');
  const items = await receiving(context, { place, request }, (how) =>
    unpackTar(context, { ...place, ...how, bytes: request.raw }),
  );
  return reply.code(201).send({ items });
}

/** PUT, GET, HEAD, DELETE and POST of `/v1/folders/<id>/<path>`. */
export function addFolderRoutes(app: FastifyInstance, context: StorageContext): void {
  type Answer = (context: StorageContext, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
  const bind = (answer: Answer) => (request: FastifyRequest, reply: FastifyReply) => answer(context, request, reply);
  for (const url of ['/v1/folders/:id', '/v1/folders/:id/*']) {
    app.route({ method: 'PUT', url, handler: bind(put), config: { operationId: 'write' } });
    app.route({ method: ['GET', 'HEAD'], url, handler: bind(get), config: { operationId: 'read' } });
    app.route({ method: 'DELETE', url, handler: bind(remove), config: { operationId: 'delete' } });
    app.route({ method: 'POST', url, handler: bind(change), config: { operationId: 'change' } });
  }
}
