import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { folderEntrySchema, transferSchema, uploadedSchema } from '../contract/index.js';
import { TransferError } from './problem-error.js';
import type { Transport } from './transport.js';

export type Uploaded = z.output<typeof uploadedSchema>;
export type FolderEntry = z.output<typeof folderEntrySchema>;
export type Transfer = z.output<typeof transferSchema>;

/** Bytes at hand, or a way to read them from the start: a stream is opened anew for each try. */
export type ByteSource = Uint8Array | string | ((signal?: AbortSignal) => AsyncIterable<Uint8Array>);

export interface ByteOptions {
  readonly signal?: AbortSignal | undefined;
  /** Bytes that went over so far. */
  readonly onProgress?: ((doneBytes: number) => void) | undefined;
}

const authorization = (transfer: Transfer) => ({ authorization: `Bearer ${transfer.token}` });

/** Sends a file once. Throws `TransferError` when the proxy kept other bytes than were sent. */
export async function upload(transport: Transport, transfer: Transfer, sent: Sent): Promise<Uploaded> {
  const hash = createHash('sha256');
  const response = await transport.sendOnce(transfer.url, {
    method: 'PUT',
    headers: { ...authorization(transfer), 'content-type': 'application/octet-stream' },
    body: toStream(counted(bytesOf(sent.source, sent.options.signal), hash, sent.options.onProgress)),
    duplex: 'half',
    ...(sent.options.signal === undefined ? {} : { signal: sent.options.signal }),
  });
  const uploaded = (await response.json()) as Uploaded;
  const sha256 = hash.digest('hex');
  if (uploaded.sha256 !== sha256) {
    throw new TransferError(`${uploaded.path}: sent sha256 ${sha256}, the storage has ${uploaded.sha256}`);
  }
  return uploaded;
}
export interface Sent {
  readonly source: ByteSource;
  readonly options: ByteOptions;
}

/** Where a download begins, of which version: what is there of it already stays. */
export interface DownloadFrom {
  readonly fromByte: number;
  readonly etag: string;
}
export interface Download {
  /** Of the whole file. */
  readonly bytes: number;
  readonly etag: string;
  readonly sha256: string | undefined;
  /** 0 when the file is another version than was asked for: begin anew. */
  readonly startsAt: number;
  /** From `startsAt` on. A cut is gone on with; throws `TransferError` when the file changed meanwhile. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

export interface Downloading {
  readonly transfer: () => Promise<Transfer>;
  readonly options: ByteOptions;
  readonly from?: DownloadFrom | undefined;
  /** Large files are read twice there unless their sum is known; small ones always tell it. */
  readonly wantsSum: boolean;
}

async function request(transport: Transport, { transfer, options, wantsSum }: Downloading, from?: DownloadFrom) {
  const { url, token } = await transfer();
  return transport.send({
    method: 'GET',
    url,
    headers: {
      authorization: `Bearer ${token}`,
      ...(wantsSum ? { 'x-berth-checksum': 'true' } : {}),
      ...(from === undefined || from.fromByte === 0 ? {} : { range: `bytes=${from.fromByte}-`, 'if-range': from.etag }),
    },
    isRepeatable: true,
    signal: options.signal,
  });
}

const totalOf = (response: Response): number =>
  Number(
    /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1] ?? response.headers.get('content-length') ?? 0,
  );

/** Opens a file for reading, from a byte of a known version on where there is one. */
export async function openDownload(transport: Transport, how: Downloading): Promise<Download> {
  const response = await request(transport, how, how.from);
  const startsAt = response.status === 206 ? (how.from?.fromByte ?? 0) : 0;
  const etag = response.headers.get('etag') ?? '';
  return {
    bytes: totalOf(response),
    etag,
    sha256: announcedSha256(response.headers),
    startsAt,
    chunks: goingOn(transport, how, { response, etag, startsAt }),
  };
}

async function* goingOn(
  transport: Transport,
  how: Downloading,
  begun: { readonly response: Response; readonly etag: string; readonly startsAt: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  let { response, startsAt: done } = begun;
  let [attempt, reached] = [1, done];
  for (;;) {
    try {
      for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        done += chunk.byteLength;
        how.options.onProgress?.(done);
        yield chunk;
      }
      return;
    } catch (error) {
      how.options.signal?.throwIfAborted();
      if (begun.etag === '' || attempt >= transport.triesMax) throw error;
    }
    if (done > reached) [reached, attempt] = [done, 1];
    await transport.pause(attempt, how.options.signal);
    attempt += 1;
    response = await request(transport, how, { fromByte: done, etag: begun.etag });
    if (response.status !== 206 && done > 0) throw new TransferError('the file changed while it was read');
  }
}

/** The file's bytes as they come. Throws `TransferError` at the end when they are not those that the proxy announced. */
export async function* download(transport: Transport, how: Downloading): AsyncGenerator<Uint8Array, void, undefined> {
  const { sha256: expected, chunks } = await openDownload(transport, how);
  const hash = createHash('sha256');
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
  const sha256 = hash.digest('hex');
  if (expected !== undefined && expected !== sha256) {
    throw new TransferError(`received sha256 ${sha256}, the storage announced ${expected}`);
  }
}

/** From `Repr-Digest` (RFC 9530), of the whole file. Undefined when the proxy does not say. */
export function announcedSha256(headers: Headers): string | undefined {
  const digest = /sha-256=:([A-Za-z0-9+/=]+):/.exec(headers.get('repr-digest') ?? '')?.[1];
  return digest === undefined ? undefined : Buffer.from(digest, 'base64').toString('hex');
}

function bytesOf(source: ByteSource, signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
  if (typeof source === 'function') return source(signal);
  return one(typeof source === 'string' ? new TextEncoder().encode(source) : source);
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  hash: ReturnType<typeof createHash>,
  onProgress: ((doneBytes: number) => void) | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  let doneBytes = 0;
  for await (const chunk of bytes) {
    hash.update(chunk);
    doneBytes += chunk.byteLength;
    onProgress?.(doneBytes);
    yield chunk;
  }
}

/** Read as the network takes it: one chunk is held at a time. */
export function toStream(bytes: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await iterator.next();
      if (next.done === true) controller.close();
      else if (next.value.byteLength > 0) controller.enqueue(next.value);
      else await this.pull?.(controller);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
