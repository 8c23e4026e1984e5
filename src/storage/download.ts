import type { FileHandle } from 'node:fs/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ProblemError } from '../api/problem.js';
import { byteRange } from './byte-range.js';
import { openFile } from './directory.js';
import { etagOf, type Sums, versionOf } from './sums.js';
import { type FilePlace, inDirectory } from './walk.js';

const READ_BYTES = 2 ** 19;
/** Up to this size the sum is told unasked: the file is read twice, and the second time from memory. */
const CHECKED_BYTES_MAX = 32 * 2 ** 20;

export const openAt = (place: FilePlace): Promise<FileHandle> => inDirectory(place, openFile);

const matches = (header: string | undefined, etag: string): boolean =>
  header !== undefined && (header === '*' || header.split(',').some((tag) => tag.trim() === etag));

/** The range that counts: none when `If-Range` names another version, so that no two versions are joined. */
function rangeOf({ headers }: FastifyRequest, etag: string, size: number) {
  const ifRange = headers['if-range'];
  const stands = ifRange === undefined || ifRange === etag;
  const range = byteRange(stands ? headers.range : undefined, size);
  if (range.kind !== 'unsatisfiable') return range;
  throw new ProblemError(
    { code: 'invalid_request', detail: `the file has ${size} bytes` },
    { headers: { 'content-range': `bytes */${size}` } },
  );
}

interface Answered {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly wantsChecksum: boolean;
  readonly sums: Sums;
  readonly volumePath: string;
}

async function answer(
  file: FileHandle,
  { request, reply, wantsChecksum, sums, volumePath }: Answered,
): Promise<'streams' | 'done'> {
  const { etag, size, modified } = await etagOf(file);
  void reply.headers({ etag, 'last-modified': modified, 'accept-ranges': 'bytes' });
  if (matches(request.headers['if-none-match'], etag)) {
    await reply.code(304).send();
    return 'done';
  }
  const version = versionOf(volumePath, etag);
  if (wantsChecksum || size <= CHECKED_BYTES_MAX || sums.known(version) !== undefined) {
    const sha256 = await sums.of(file, version);
    const base64 = Buffer.from(sha256, 'hex').toString('base64');
    void reply.headers({ 'x-berth-sha256': sha256, 'repr-digest': `sha-256=:${base64}:` });
  }
  const range = rangeOf(request, etag, size);
  const [first, last] = range.kind === 'part' ? [range.first, range.last] : [0, size - 1];
  if (range.kind === 'part') void reply.code(206).header('content-range', `bytes ${first}-${last}/${size}`);
  void reply.type('application/octet-stream').header('content-length', String(last - first + 1));
  if (request.method === 'HEAD' || size === 0) {
    await reply.send(request.method === 'HEAD' ? undefined : '');
    return 'done';
  }
  void reply.send(file.createReadStream({ start: first, end: last, highWaterMark: READ_BYTES }));
  return 'streams';
}

/** Streams a file, or the range that is asked for; its SHA-256 (of the whole) when it is small, or on request. */
export async function download(place: FilePlace, how: Omit<Answered, 'volumePath'>): Promise<void> {
  const file = await openAt(place);
  let outcome: 'streams' | 'done' = 'done';
  try {
    outcome = await answer(file, { ...how, volumePath: place.volumePath });
  } finally {
    if (outcome === 'done') await file.close();
  }
}
