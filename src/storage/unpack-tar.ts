import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract, type Headers } from 'tar-stream';
import { invalid, problem } from '../api/problem.js';
import { pathProblem } from '../contract/index.js';
import { bytesAt, namesIn, openDirectory, openRoot } from './directory.js';
import { PUT_PREFIX, partsOfVolume } from './parts.js';
import { FILE_MODE, type Placing } from './place-file.js';
import { sumMismatch, type Uploaded } from './upload.js';
import type { FilePlace } from './walk.js';

const ENTRIES_MAX = 100_000;
/** In a file's pax header: its SHA-256 in hexadecimal, checked. */
export const SUM_RECORD = 'BERTH.sha256';

export interface Unpacking extends FilePlace {
  readonly bytes: Readable;
  readonly maxBytes: number;
  readonly mustFit: (bytes: number) => void;
  readonly beforePlace: () => Promise<void>;
}
/** The types leave it out. */
type PaxHeaders = Headers & { readonly pax?: Readonly<Record<string, string>> | null };
interface Part {
  readonly path: string;
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

function partsOfEntry({ name }: Headers): readonly string[] {
  const path = name.replace(/^(\.\/)+/, '').replace(/\/+$/, '');
  if (path === '' || path === '.') return [];
  const message = pathProblem(path);
  if (message !== null) throw invalid('/path', `${JSON.stringify(path)} in the archive: ${message}`);
  return path.split('/');
}

async function receive(entry: AsyncIterable<Buffer>, file: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  const chunks: Buffer[] = [];
  let bytes = 0;
  const handle = await open(file, 'wx', FILE_MODE);
  try {
    for await (const chunk of entry) {
      hash.update(chunk);
      bytes += chunk.length;
      chunks.push(chunk);
      if (chunks.length >= 32) await handle.writev(chunks.splice(0));
    }
    if (chunks.length > 0) await handle.writev(chunks);
    await handle.chmod(FILE_MODE);
  } finally {
    await handle.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** Everything is received before anything appears: a cut, a bad name or a wrong sum leaves nothing. */
async function receiveAll({ bytes: source, maxBytes, mustFit }: Unpacking, directory: string) {
  const parts: Part[] = [];
  const directories: string[] = [];
  const archive = extract();
  const reading = pipeline(source, archive);
  reading.catch(() => undefined); // thrown by the loop too
  let total = 0;
  for await (const entry of archive) {
    const { header } = entry;
    const path = partsOfEntry(header).join('/');
    if (parts.length + directories.length >= ENTRIES_MAX) throw problem('too_large', `at most ${ENTRIES_MAX} entries`);
    total += header.size ?? 0;
    if (total > maxBytes) throw problem('too_large', `the token allows ${maxBytes} bytes`);
    mustFit(total);
    if (header.type === 'file' && path !== '') {
      const file = join(directory, String(parts.length));
      const received = await receive(entry, file);
      const expected = (header as PaxHeaders).pax?.[SUM_RECORD];
      if (expected !== undefined && expected !== received.sha256) throw sumMismatch(received.sha256);
      parts.push({ path, file, ...received });
    } else {
      if (header.type !== 'directory')
        throw invalid('/path', `${JSON.stringify(header.name)} is a ${header.type}: only files and folders`);
      if (path !== '') directories.push(path);
      entry.resume();
    }
  }
  await reading;
  return { parts, directories };
}

/** One sync of the file system for all files: a thousand of their own would take ten times as long. */
async function syncAll(directory: string): Promise<void> {
  const flush = spawn('sync', ['-f', directory], { stdio: 'ignore' });
  const [code] = (await once(flush, 'exit')) as [number | null];
  if (code !== 0) throw new Error('the volume could not be synced');
}

function byDirectory(parts: readonly Part[]): ReadonlyMap<string, Part[]> {
  const found = new Map<string, Part[]>();
  for (const part of parts) {
    const above = part.path.split('/').slice(0, -1).join('/');
    const known = found.get(above);
    if (known === undefined) found.set(above, [part]);
    else known.push(part);
  }
  return found;
}

/** Files of one directory, in one turn of the folder, with one reading and one sync of the directory. */
async function placeIn(placing: Placing, place: FilePlace, parts: readonly Part[]): Promise<void> {
  const root = await openRoot(place.volumePath);
  try {
    const directory = await placing.ledger.change(place, async () => {
      const by = { bytes: 0, files: 0, directories: 0 };
      await (await openDirectory(root, [place.folderId], () => undefined)).close();
      const above = await openDirectory(root, [place.folderId, ...place.parts], () => (by.directories += 1));
      try {
        const names = await namesIn(above);
        for (const { path, file, bytes } of parts) {
          const name = path.split('/').at(-1) ?? '';
          const old = names.has(name) ? await bytesAt(above, name) : null;
          names.mustTake(name);
          await rename(file, above.at(name));
          by.bytes += bytes - (old?.bytes ?? 0);
          by.files += 1 - (old?.files ?? 0);
        }
        return { by, result: above };
      } catch (error) {
        await above.close();
        throw error;
      }
    });
    await directory.handle.sync().finally(() => directory.close());
  } finally {
    await root.close();
  }
}

/** Makes a directory and those above it. */
export async function makeDirectory({ ledger }: Pick<Placing, 'ledger'>, place: FilePlace): Promise<void> {
  const root = await openRoot(place.volumePath);
  try {
    await ledger.change(place, async () => {
      let directories = 0;
      await (await openDirectory(root, [place.folderId], () => undefined)).close();
      await (await openDirectory(root, [place.folderId, ...place.parts], () => (directories += 1))).close();
      return { by: { bytes: 0, files: 0, directories }, result: undefined };
    });
  } finally {
    await root.close();
  }
}

/**
 * Many files in one request, as a tar: for small ones, whose requests would cost more than their bytes. Each is whole from its
 * first moment; together they appear one by one, so a kill in the middle leaves the first ones, and a second try all.
 */
export async function unpackTar(placing: Placing, wanted: Unpacking): Promise<readonly Uploaded[]> {
  const directory = join(partsOfVolume(wanted.volumePath), `${PUT_PREFIX}${randomBytes(16).toString('hex')}`);
  await mkdir(directory, { mode: 0o700 });
  const below = (path: string) => ({ ...wanted, parts: [...wanted.parts, ...path.split('/')] });
  try {
    const { parts, directories } = await receiveAll(wanted, directory);
    await wanted.beforePlace();
    await syncAll(directory);
    for (const path of directories) await makeDirectory(placing, below(path));
    for (const [path, files] of byDirectory(parts)) {
      await placeIn(placing, path === '' ? wanted : below(path), files);
    }
    return parts.map(({ path, bytes, sha256 }) => ({ path: below(path).parts.join('/'), bytes, sha256 }));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
