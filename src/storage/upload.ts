import { createHash, randomBytes } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import { invalid, problem } from '../api/problem.js';
import type { uploadedSchema } from '../contract/index.js';
import { PUT_PREFIX, partsOfVolume } from './parts.js';
import { FILE_MODE, type Placing, placeFile } from './place-file.js';
import type { FilePlace } from './walk.js';

export type Uploaded = z.output<typeof uploadedSchema>;

export interface Upload extends FilePlace {
  readonly bytes: Readable;
  readonly maxBytes: number;
  /** Hexadecimal; null when the client said none. */
  readonly expectedSha256: string | null;
  /** Hears how many came so far; throws when they are too many. */
  readonly mustFit: (bytes: number) => void;
  /** Run when all is well, before the file appears. */
  readonly beforePlace: () => Promise<void>;
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
      upload.mustFit(bytes);
      const written = file.writeFile(chunk);
      hash.update(chunk);
      await written;
    }
    await file.chmod(FILE_MODE);
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

export const sumMismatch = (sha256: string) =>
  invalid('', `the bytes have the SHA-256 ${sha256}, not the one that was announced`);

/**
 * Receives a file in one request, beside the folder, checks its sum, syncs it and moves it into place at once: a reader never
 * sees half of it, and a cut, a wrong sum or too many bytes leave nothing. A second upload of a path replaces the first.
 */
export async function upload(placing: Placing, wanted: Upload): Promise<Uploaded> {
  const partFile = join(partsOfVolume(wanted.volumePath), `${PUT_PREFIX}${randomBytes(16).toString('hex')}`);
  try {
    const { bytes, sha256 } = await receive(wanted, partFile);
    if (wanted.expectedSha256 !== null && wanted.expectedSha256 !== sha256) throw sumMismatch(sha256);
    await wanted.beforePlace();
    await placeFile(placing, { ...wanted, partFile, bytes, sha256 });
    return { path: wanted.parts.join('/'), bytes, sha256 };
  } finally {
    await rm(partFile, { force: true });
  }
}
