import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { finished } from 'node:stream/promises';
import { type Client, TransferError } from '../../sdk/index.js';

export interface GetOptions {
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly onProgress: (doneBytes: number) => void;
}
export interface Got {
  readonly bytes: number;
  readonly sha256: string;
}

/** What was saved of a file before a cut, and of which version. */
async function partOf(partial: string): Promise<{ readonly fromByte: number; readonly etag: string } | undefined> {
  const [etag, size] = await Promise.all([
    readFile(`${partial}.etag`, 'utf8').catch(() => ''),
    stat(partial).then(
      (info) => info.size,
      () => 0,
    ),
  ]);
  return etag === '' || size === 0 ? undefined : { fromByte: size, etag };
}

async function hashOfPart(partial: string, bytes: number): Promise<Hash> {
  const hash = createHash('sha256');
  if (bytes === 0) return hash;
  for await (const chunk of createReadStream(partial, { end: bytes - 1 })) hash.update(chunk as Buffer);
  return hash;
}

/**
 * Saves a file, which appears whole or not at all. What a cut left (`<target>.part`) is gone on with while the file is the same
 * version there. Throws `TransferError` when the bytes are not those that the storage announced.
 */
export async function getFile(
  from: { readonly folder: string; readonly path: string },
  target: string,
  { client, signal, onProgress }: GetOptions,
): Promise<Got> {
  const partial = `${target}.part`;
  await mkdir(dirname(target), { recursive: true });
  const part = await partOf(partial);
  const opened = await client.folders
    .openFile(from, { signal, onProgress, ...(part === undefined ? {} : { from: part }) })
    .catch(async (error: unknown) => {
      if (part === undefined) throw error;
      return client.folders.openFile(from, { signal, onProgress }); // all of it is here already, or it is another
    });
  await writeFile(`${partial}.etag`, opened.etag);
  const hash = await hashOfPart(partial, opened.startsAt);
  const file = createWriteStream(partial, opened.startsAt > 0 ? { flags: 'r+', start: opened.startsAt } : {});
  let bytes = opened.startsAt;
  for await (const chunk of opened.chunks) {
    hash.update(chunk);
    bytes += chunk.byteLength;
    if (!file.write(chunk)) await new Promise<void>((resolve) => file.once('drain', () => resolve()));
  }
  file.end();
  await finished(file);
  const sha256 = hash.digest('hex');
  if (opened.sha256 !== undefined && opened.sha256 !== sha256) {
    await Promise.all([rm(partial, { force: true }), rm(`${partial}.etag`, { force: true })]);
    throw new TransferError(`${from.path}: received sha256 ${sha256}, the storage announced ${opened.sha256}`);
  }
  await rename(partial, target);
  await rm(`${partial}.etag`, { force: true });
  return { bytes, sha256 };
}
