import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { FileStore } from '@tus/file-store';
import { sha256Of } from './sums.js';

interface Running {
  readonly hash: Hash;
  offset: number;
}

/** Writes come from one request at a time (tus locks an upload). Small chunks are joined: each write costs a trip to a thread. */
const JOINED_BYTES = 2 ** 20;
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** tus's file store that sums up bytes as they come, so that a whole upload is not read again at its end. */
export class HashingStore extends FileStore {
  readonly #running = new Map<string, Running>();
  readonly #full = new Set<string>();

  override async write(readable: Readable, id: string, offset: number): Promise<number> {
    const file = await open(join(this.directory, id), 'r+');
    const running = await this.#runningAt(id, offset, file);
    try {
      for await (const block of joined(readable)) {
        const writing = writeAll(file, block, running.offset);
        for (const chunk of block) running.hash.update(chunk);
        await writing;
        running.offset += block.reduce((sum, chunk) => sum + chunk.length, 0);
      }
      return running.offset;
    } catch (error) {
      this.#running.delete(id); // the sum may be ahead of what was written
      if (FULL.has((error as NodeJS.ErrnoException).code ?? '')) this.#full.add(id);
      throw error;
    } finally {
      await file.close();
    }
  }

  /** Of all that was received; read again where a part came to another process, or before a cut. */
  async sha256(id: string, file: FileHandle, size: number): Promise<string> {
    const running = this.#running.get(id);
    this.#running.delete(id);
    return running?.offset === size ? running.hash.digest('hex') : sha256Of(file);
  }

  /** Its disk had no room for it. */
  isFull(id: string): boolean {
    return this.#full.has(id);
  }

  forget(id: string): void {
    this.#running.delete(id);
    this.#full.delete(id);
  }

  async #runningAt(id: string, offset: number, file: FileHandle): Promise<Running> {
    const known = this.#running.get(id);
    if (known?.offset === offset) return known;
    const hash = createHash('sha256');
    const running = { hash, offset };
    if (offset > 0) await feed(hash, file, offset);
    this.#running.set(id, running);
    return running;
  }
}

async function feed(hash: Hash, file: FileHandle, end: number): Promise<void> {
  const buffer = Buffer.allocUnsafe(JOINED_BYTES);
  for (let at = 0; at < end; ) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(JOINED_BYTES, end - at), at);
    if (bytesRead === 0) return;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}

async function* joined(readable: Readable): AsyncGenerator<Uint8Array[]> {
  let block: Uint8Array[] = [];
  let bytes = 0;
  let failed: { readonly error: unknown } | null = null;
  try {
    // Not destroyed when writing fails: tus would take that for a cut, and hide why.
    for await (const chunk of readable.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
      block.push(chunk);
      bytes += chunk.length;
      if (bytes < JOINED_BYTES) continue;
      yield block;
      block = [];
      bytes = 0;
    }
  } catch (error) {
    failed = { error };
  }
  if (bytes > 0) yield block; // what came before a cut is kept
  if (failed !== null) throw failed.error;
}

async function writeAll(file: FileHandle, block: readonly Uint8Array[], position: number): Promise<void> {
  const total = block.reduce((sum, chunk) => sum + chunk.length, 0);
  const { bytesWritten } = await file.writev(block, position);
  if (bytesWritten === total) return;
  const rest = Buffer.concat(block).subarray(bytesWritten);
  for (let done = 0; done < rest.length; ) {
    done += (await file.write(rest, done, rest.length - done, position + bytesWritten + done)).bytesWritten;
  }
}
