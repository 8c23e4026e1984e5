import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ProblemError } from '../api/problem.js';
import { byteRange } from './byte-range.js';
import { openDirectory, openFile, openRoot } from './directory.js';

const READ_BYTES = 2 ** 18;
/** Up to this size the sum is told unasked: the file is read twice, and the second time from memory. */
const CHECKED_BYTES_MAX = 32 * 2 ** 20;

export interface FilePlace {
  readonly volumePath: string;
  readonly folderId: string;
  readonly parts: readonly string[];
}

/** Strong: it changes with every write, in place or by a new file. */
async function etagOf(file: FileHandle): Promise<{ etag: string; size: number; modified: string }> {
  const { ino, size, mtimeNs, ctimeNs, mtime } = await file.stat({ bigint: true });
  const etag = `"${[ino, size, mtimeNs, ctimeNs].map((part) => part.toString(36)).join('-')}"`;
  return { etag, size: Number(size), modified: mtime.toUTCString() };
}

async function sha256Of(file: FileHandle): Promise<string> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  for (let at = 0; ; ) {
    const { bytesRead } = await file.read(buffer, 0, READ_BYTES, at);
    if (bytesRead === 0) return hash.digest('hex');
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}

export async function openAt({ volumePath, folderId, parts }: FilePlace): Promise<FileHandle> {
  const root = await openRoot(volumePath);
  try {
    const directory = await openDirectory(root, [folderId, ...parts.slice(0, -1)]);
    return await openFile(directory, parts.at(-1) ?? '.').finally(() => directory.close());
  } finally {
    await root.close();
  }
}

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
}

async function answer(file: FileHandle, { request, reply, wantsChecksum }: Answered): Promise<'streams' | 'done'> {
  const { etag, size, modified } = await etagOf(file);
  void reply.headers({ etag, 'last-modified': modified, 'accept-ranges': 'bytes' });
  if (matches(request.headers['if-none-match'], etag)) {
    await reply.code(304).send();
    return 'done';
  }
  if (wantsChecksum || size <= CHECKED_BYTES_MAX) {
    const sha256 = await sha256Of(file);
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
  void reply.send(file.createReadStream({ start: first, end: last }));
  return 'streams';
}

/** Streams a file, or the range that is asked for; its SHA-256 (of the whole) when it is small, or on request. */
export async function download(place: FilePlace, how: Answered): Promise<void> {
  const file = await openAt(place);
  let outcome: 'streams' | 'done' = 'done';
  try {
    outcome = await answer(file, how);
  } finally {
    if (outcome === 'done') await file.close();
  }
}
