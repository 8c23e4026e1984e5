import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Client } from '../../sdk/index.js';
import type { KeptUploads } from './kept-uploads.js';
import { atOnce, type LocalFile, sha256OfFile } from './local-tree.js';
import type { TransferMeter } from './transfer-meter.js';

/** Smaller files go many in a request; larger ones alone, so that each can be gone on with. */
const SMALL_BYTES = 2 ** 20;
const BATCH_BYTES = 16 * 2 ** 20;
const BATCH_FILES = 1_000;
const READ_BYTES = 2 ** 19;

export interface PutOptions {
  readonly client: Client;
  readonly folder: string;
  readonly parallel: number;
  readonly kept: KeptUploads;
  readonly meter: TransferMeter;
  readonly signal: AbortSignal;
  /** Also what is there with the same bytes. */
  readonly again: boolean;
}

function batches(files: readonly LocalFile[]): LocalFile[][] {
  const made: LocalFile[][] = [];
  let bytes = 0;
  for (const file of files) {
    const last = made.at(-1);
    if (last === undefined || last.length >= BATCH_FILES || bytes + file.bytes > BATCH_BYTES) {
      made.push([file]);
      bytes = file.bytes;
    } else {
      last.push(file);
      bytes += file.bytes;
    }
  }
  return made;
}

/** Files whose like is not there: same path, length and SHA-256. What has no like of its length is not read for it. */
async function missing(files: readonly LocalFile[], { client, folder, meter, again }: PutOptions) {
  if (again || files.length < 2) return files;
  const { items = [] } = await client.folders.treeSum({ folder, items: true });
  const there = new Map(items.map((item) => [item.path, item]));
  const wanted: LocalFile[] = [];
  for (const file of files) {
    const like = there.get(file.path);
    const isSame = like?.bytes === file.bytes && like.sha256 === (await sha256OfFile(file.file));
    if (isSame) meter.skip(file.path, file.bytes);
    else wanted.push(file);
  }
  return wanted;
}

async function putLarge(file: LocalFile, { client, folder, kept, meter, signal }: PutOptions): Promise<string> {
  const open = (start: number) =>
    createReadStream(file.file, { start, highWaterMark: READ_BYTES }) as AsyncIterable<Uint8Array>;
  const uploaded = await client.folders.uploadFile(
    { folder, path: file.path },
    { bytes: file.bytes, open },
    {
      signal,
      resume: kept.find(file),
      onBegun: (url) => kept.keep(file, url),
      onProgress: (bytes) => meter.at(file.path, bytes),
    },
  );
  kept.forget(file);
  return uploaded.sha256;
}

async function putSmall(files: readonly LocalFile[], { client, folder, meter, signal }: PutOptions): Promise<void> {
  const small = files.map(({ file, path }) => ({ path, read: () => readFile(file) }));
  const maxBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const part = files[0]?.path ?? '';
  await client.folders.putFiles({ folder }, small, { maxBytes, signal, onProgress: (bytes) => meter.at(part, bytes) });
}

export interface Put {
  readonly sent: number;
  readonly bytes: number;
  /** Of the one file, where there was one. */
  readonly sha256: string | undefined;
}

/** Sends what is not there yet, in parallel. A second call after a cut sends the rest. */
export async function putFiles(files: readonly LocalFile[], options: PutOptions): Promise<Put> {
  const wanted = await missing(files, options);
  const isSmall = ({ bytes }: LocalFile) => bytes < SMALL_BYTES && files.length > 1;
  const small = batches(wanted.filter(isSmall));
  const large = wanted.filter((file) => !isSmall(file));
  let sha256: string | undefined;
  const work = [
    ...small.map((batch) => () => putSmall(batch, options)),
    ...large.map((file) => async () => {
      sha256 = await putLarge(file, options);
    }),
  ];
  await atOnce(options.parallel, work, (send) => send());
  return { sent: wanted.length, bytes: wanted.reduce((sum, { bytes }) => sum + bytes, 0), sha256 };
}
