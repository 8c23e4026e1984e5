import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { invalid, problem } from '../api/problem.js';
import { moveInto, openDirectory, openRoot } from './directory.js';

/** Beside the folders, where no container sees a half of a file. */
const PARTS_DIRECTORY = '.parts';
const FILE_MODE = 0o666;

export interface Upload {
  readonly volumePath: string;
  readonly folderId: string;
  /** At least one: the last is the file's name. */
  readonly parts: readonly string[];
  readonly bytes: Readable;
  readonly maxBytes: number;
  /** Hexadecimal; null when the client said none. */
  readonly expectedSha256: string | null;
}
export interface Uploaded {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Removes what uploads left that a killed proxy had begun. Call it before the first request. */
export async function clearParts(volumePath: string): Promise<void> {
  await rm(join(volumePath, PARTS_DIRECTORY), { recursive: true, force: true });
}

/** Counts and hashes on the way to the disk; nothing above `maxBytes` is written. */
async function receive(upload: Upload, partFile: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(partFile, 'wx', FILE_MODE);
  try {
    for await (const chunk of upload.bytes as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > upload.maxBytes) throw problem('too_large', `the token allows ${upload.maxBytes} bytes`);
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    await file.chmod(FILE_MODE);
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

async function place({ volumePath, folderId, parts }: Upload, partFile: string): Promise<void> {
  const root = await openRoot(volumePath);
  try {
    const directory = await openDirectory(root, [folderId, ...parts.slice(0, -1)], true);
    await moveInto(directory, parts.at(-1) ?? '', partFile).finally(() => directory.close());
  } finally {
    await root.close();
  }
}

/**
 * Receives a file beside the folder, checks its sum, syncs it and moves it into place at once: a reader never sees half
 * of it, and a cut, a wrong sum or too many bytes leave nothing. A second upload of a path replaces the first.
 */
export async function upload(wanted: Upload): Promise<Uploaded> {
  const directory = join(wanted.volumePath, PARTS_DIRECTORY);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const partFile = join(directory, randomBytes(16).toString('hex'));
  try {
    const { bytes, sha256 } = await receive(wanted, partFile);
    if (wanted.expectedSha256 !== null && wanted.expectedSha256 !== sha256) {
      throw invalid('', `the bytes have the SHA-256 ${sha256}, not the one that was announced`);
    }
    await place(wanted, partFile);
    return { path: wanted.parts.join('/'), bytes, sha256 };
  } finally {
    await rm(partFile, { force: true });
  }
}
