import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';

const READ_BYTES = 2 ** 20;
const KEPT_MAX = 10_000;

/** Strong: it changes with every write, in place or by a new file. */
export async function etagOf(file: FileHandle): Promise<{ etag: string; size: number; modified: string }> {
  const { ino, size, mtimeNs, ctimeNs, mtime } = await file.stat({ bigint: true });
  const etag = `"${[ino, size, mtimeNs, ctimeNs].map((part) => part.toString(36)).join('-')}"`;
  return { etag, size: Number(size), modified: mtime.toUTCString() };
}

export async function sha256Of(
  file: FileHandle,
  hash = createHash('sha256'),
  end = Number.POSITIVE_INFINITY,
): Promise<string> {
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  for (let at = 0; ; ) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(READ_BYTES, end - at), at);
    if (bytesRead === 0) return hash.digest('hex');
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}

export interface Sums {
  /** Undefined when it is not known without reading. */
  known(version: string): string | undefined;
  keep(version: string, sha256: string): void;
  of(file: FileHandle, version: string): Promise<string>;
}

/** Sums of versions of files, the latest ten thousand, each by its device and ETag: what was uploaded or summed once is not read again. */
export function createSums(): Sums {
  const sums = new Map<string, string>();
  const keep = (version: string, sha256: string) => {
    sums.delete(version);
    sums.set(version, sha256);
    if (sums.size <= KEPT_MAX) return;
    const [oldest] = sums.keys();
    if (oldest !== undefined) sums.delete(oldest);
  };
  return {
    known: (version) => sums.get(version),
    keep,
    async of(file, version) {
      const found = sums.get(version);
      if (found !== undefined) return found;
      const sha256 = await sha256Of(file);
      keep(version, sha256);
      return sha256;
    },
  };
}

/** Two volumes may count inodes alike. */
export const versionOf = (volumePath: string, etag: string): string => `${volumePath} ${etag}`;
