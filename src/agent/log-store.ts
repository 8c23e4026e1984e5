import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { frames, type OutputFrame } from '../docker/frames.js';
import { type KernelRun, runKey } from './kernel-container.js';

/**
 * The output of containers that were removed, one file a run, framed as the engine frames it (a byte of stream, three
 * of nothing, four of length, the data), so that stdout and stderr stay apart.
 */
export interface LogStore {
  /** A second call writes the file anew; readers see the old one or the new one. */
  readonly save: (run: KernelRun, output: AsyncIterable<OutputFrame>) => Promise<void>;
  /** Undefined when nothing was kept. `tail`: the last so many lines. */
  readonly read: (run: KernelRun, options?: SavedLogOptions) => Promise<AsyncIterable<OutputFrame> | undefined>;
  /** Removes files older than they are kept for; returns how many. */
  readonly sweep: (now: Date) => Promise<number>;
}

export interface SavedLogOptions {
  readonly tail?: number;
  /** Nothing, when the run had ended before this moment. */
  readonly since?: Date;
}

export interface LogStoreOptions {
  readonly dir: string;
  readonly bytesMax?: number;
  readonly keptMs?: number;
}

const BYTES_MAX_DEFAULT = 20 * 1024 * 1024;
const KEPT_MS_DEFAULT = 7 * 24 * 3600 * 1000;
const HEADER_BYTES = 8;
const RUN_KEY = /^[a-z0-9_]{1,64}-\d{1,9}$/;
const CUT_NOTE = '\n[berth: the log is longer than is kept]\n';

export function createLogStore(options: LogStoreOptions): LogStore {
  const { dir, bytesMax = BYTES_MAX_DEFAULT, keptMs = KEPT_MS_DEFAULT } = options;
  const fileOf = (run: KernelRun): string => {
    const key = runKey(run);
    if (!RUN_KEY.test(key)) throw new RangeError('not the key of a run');
    return join(dir, `${key}.log`);
  };
  return {
    save: async (run, output) => {
      const file = fileOf(run);
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const part = `${file}.${randomUUID()}.part`; // two removals of one run may meet here
      await write(part, output, bytesMax);
      await rename(part, file);
    },
    read: async (run, { tail, since } = {}) => {
      const file = fileOf(run);
      const found = await stat(file).catch(() => undefined);
      if (found === undefined) return undefined;
      if (since !== undefined && found.mtime < since) return none();
      const saved = frames(createReadStream(file));
      return tail === undefined ? saved : lastLines(saved, tail);
    },
    sweep: async (now) => {
      const names = await readdir(dir).catch(() => []);
      let removed = 0;
      for (const name of names) {
        const file = join(dir, name);
        const found = await stat(file).catch(() => undefined);
        if (found === undefined || now.getTime() - found.mtimeMs < keptMs) continue;
        await unlink(file).catch(() => undefined);
        removed += 1;
      }
      return removed;
    },
  };
}

async function write(file: string, output: AsyncIterable<OutputFrame>, bytesMax: number): Promise<void> {
  const handle = await open(file, 'w', 0o600);
  try {
    let bytes = 0;
    for await (const frame of output) {
      bytes += HEADER_BYTES + frame.data.length;
      if (bytes > bytesMax) {
        await handle.write(encode({ stream: 'stderr', data: Buffer.from(CUT_NOTE) }));
        break;
      }
      await handle.write(encode(frame));
    }
    await handle.close();
  } catch (error) {
    await handle.close();
    await rm(file, { force: true });
    throw error;
  }
}

function encode({ stream, data }: OutputFrame): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(stream === 'stderr' ? 2 : 1, 0);
  header.writeUInt32BE(data.length, 4);
  return Buffer.concat([header, data]);
}

async function* none(): AsyncGenerator<OutputFrame, void> {
  // an empty log
}

/** A file is bounded, so all of it may be held to count from its end. */
async function* lastLines(saved: AsyncIterable<OutputFrame>, lines: number): AsyncGenerator<OutputFrame, void> {
  const all: OutputFrame[] = [];
  for await (const frame of saved) all.push(frame);
  let wanted = lines;
  let isLast = true;
  const kept: OutputFrame[] = [];
  for (const { stream, data } of all.reverse()) {
    let start = data.length;
    while (start > 0) {
      const isBreak = data[start - 1] === 0x0a;
      if (isBreak && !isLast) wanted -= 1;
      if (wanted <= 0) break;
      isLast = false;
      start -= 1;
    }
    if (start < data.length) kept.push({ stream, data: data.subarray(start) });
    if (wanted <= 0) break;
  }
  yield* kept.reverse();
}
