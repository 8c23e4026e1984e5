import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pause } from '../retry.js';
import { ArtifactFailure } from './artifact-failure.js';
import type { ArtifactFile } from './artifact-files.js';
import { type ArtifactAnswer, httpGet } from './artifact-http.js';

/** Tries without one new byte; a connection that is cut in the middle and goes on does not count. */
const FRUITLESS_TRIES_MAX = 4;
const AGAIN_MS = 500;

/**
 * Fetches one file to `target`, on from what an earlier try left there, and checks its size and checksum. Throws
 * `ArtifactFailure`; a checksum that is wrong leaves nothing behind.
 */
export async function downloadFile(file: ArtifactFile, target: string, signal: AbortSignal): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  let fruitless = 0;
  for (;;) {
    const before = await sizeOf(target);
    try {
      await fetchRest(file, target, signal);
      break;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ArtifactFailure && error.whose === 'claim') throw error;
      fruitless = (await sizeOf(target)) > before ? 0 : fruitless + 1;
      if (fruitless >= FRUITLESS_TRIES_MAX) throw asFailure(error, file);
      await pause(AGAIN_MS, signal);
    }
  }
  await check(file, target);
  await rm(etagOf(target), { force: true });
}

const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );
/** Of the version that the part is of: a part of another one is not gone on with. */
const etagOf = (target: string): string => `${target}.etag`;

const asFailure = (error: unknown, { path }: ArtifactFile): ArtifactFailure =>
  error instanceof ArtifactFailure ? error : new ArtifactFailure(`${path} could not be fetched`, 'node', error);

async function fetchRest(file: ArtifactFile, target: string, signal: AbortSignal): Promise<void> {
  const have = await sizeOf(target);
  if (file.bytes !== null && have === file.bytes && have > 0) return;
  const etag = await readFile(etagOf(target), 'utf8').catch(() => '');
  const goesOn = have > 0 && (file.bytes === null || have < file.bytes);
  const range = goesOn && { range: `bytes=${have}-`, ...(etag !== '' && { 'if-range': etag }) };
  const answer = await httpGet(file.url, { ...file.headers(), ...range }, signal);
  if (answer.statusCode === 416) return afterTheEnd(answer, target, have);
  const appends = answer.statusCode === 206 && startsAt(answer, have);
  await rememberVersion(answer, target);
  const wanted = length(answer);
  await pipeline(answer.body, createWriteStream(target, { flags: appends ? 'a' : 'w' }), { signal });
  const got = (await sizeOf(target)) - (appends ? have : 0);
  if (wanted !== null && got !== wanted) throw new ArtifactFailure(`${file.path} broke off`, 'node');
}

/** Asked for more than there is: it is whole, or it is a part of something else. */
async function afterTheEnd(answer: ArtifactAnswer, target: string, have: number): Promise<void> {
  await answer.body.dump();
  if (String(answer.headers['content-range']) === `bytes */${have}`) return;
  await rm(target, { force: true });
  throw new ArtifactFailure('another version lies there now', 'node');
}

const startsAt = ({ headers }: ArtifactAnswer, have: number): boolean =>
  String(headers['content-range']).startsWith(`bytes ${have}-`);

async function rememberVersion({ headers }: ArtifactAnswer, target: string): Promise<void> {
  const { etag } = headers;
  // a weak one does not stand for the same bytes
  if (typeof etag === 'string' && !etag.startsWith('W/')) await writeFile(etagOf(target), etag);
  else await rm(etagOf(target), { force: true });
}

function length({ headers }: ArtifactAnswer): number | null {
  const text = headers['content-length'];
  return typeof text === 'string' ? Number(text) : null;
}

async function check({ path, bytes, sha256 }: ArtifactFile, target: string): Promise<void> {
  const size = await sizeOf(target);
  if (bytes !== null && size !== bytes) {
    await rm(target, { force: true });
    throw new ArtifactFailure(`${path} has ${size} bytes, not ${bytes}`, 'node');
  }
  if (sha256 === null || (await hashOf(target)) === sha256) return;
  await rm(target, { force: true });
  throw new ArtifactFailure(`the checksum of ${path} is wrong`, 'claim');
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
