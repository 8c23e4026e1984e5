import type { Readable } from 'node:stream';

export interface OutputFrame {
  readonly stream: 'stdout' | 'stderr';
  readonly data: Buffer;
}

const HEADER_BYTES = 8;
const STDERR = 2;

/**
 * The engine's multiplexed stream, taken apart: one byte of stream, three of nothing, four of length, the data. Reads
 * on only when the consumer asks (back-pressure), and ends quietly when `signal` aborts. A stream that breaks off in
 * the middle of a frame throws.
 */
export async function* frames(source: Readable, signal?: AbortSignal): AsyncGenerator<OutputFrame, void> {
  let buffered: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks(source, signal)) {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
    let offset = 0;
    for (let end = frameEnd(buffered, offset); end !== undefined; end = frameEnd(buffered, offset)) {
      const stream = buffered.readUInt8(offset) === STDERR ? 'stderr' : 'stdout';
      yield { stream, data: buffered.subarray(offset + HEADER_BYTES, end) };
      offset = end;
    }
    buffered = buffered.subarray(offset);
  }
  if (buffered.length > 0 && signal?.aborted !== true) throw new Error('socket hang up');
}

/** Undefined until the whole frame has come. */
function frameEnd(buffered: Buffer, offset: number): number | undefined {
  if (buffered.length < offset + HEADER_BYTES) return undefined;
  const end = offset + HEADER_BYTES + buffered.readUInt32BE(offset + 4);
  return buffered.length < end ? undefined : end;
}

/** A terminal has one stream, and the engine sends it without headers. */
export async function* rawFrames(source: Readable, signal?: AbortSignal): AsyncGenerator<OutputFrame, void> {
  for await (const data of chunks(source, signal)) yield { stream: 'stdout', data };
}

/** Aborting, like leaving the loop early, closes the connection; only a failure that nobody asked for is thrown. */
export async function* chunks(source: Readable, signal?: AbortSignal): AsyncGenerator<Buffer, void> {
  const close = (): void => void source.destroy();
  signal?.addEventListener('abort', close, { once: true });
  try {
    if (signal?.aborted) return;
    for await (const chunk of source) yield chunk as Buffer;
  } catch (error) {
    if (!signal?.aborted) throw error;
  } finally {
    signal?.removeEventListener('abort', close);
    source.destroy();
  }
}
