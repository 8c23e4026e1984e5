import { createHash, type Hash } from 'node:crypto';
import type { Transfer, Uploaded } from './folder-bytes.js';
import { toStream } from './folder-bytes.js';
import { ConnectionError, ProblemError, TransferError } from './problem-error.js';
import type { Transport } from './transport.js';

/** A file of known length that can be read from any byte. */
export interface SizedSource {
  readonly bytes: number;
  readonly open: (fromByte: number, signal?: AbortSignal) => AsyncIterable<Uint8Array>;
}
export interface UploadOptions {
  readonly signal?: AbortSignal | undefined;
  /** Bytes that the storage has, as far as is known. */
  readonly onProgress?: ((doneBytes: number) => void) | undefined;
  /** Of an upload that was begun before: it is gone on with, where the storage still has it. */
  readonly resume?: string | undefined;
  /** Where the upload is: keep it to go on after an end of this process. */
  readonly onBegun?: ((url: string) => void) | undefined;
}
interface Upload {
  readonly path: string;
  readonly source: SizedSource;
  readonly options: UploadOptions;
  /** A token to begin with, or one to go on. */
  readonly transfer: (how: { readonly resume: boolean }) => Promise<Transfer>;
}

const TUS = { 'tus-resumable': '1.0.0' } as const;
const PASSING: readonly number[] = [408, 409, 423, 429, 502, 503, 504];
const GONE: readonly number[] = [404, 410];

/** Where the upload stands at the storage. */
interface Standing {
  readonly offset: number;
  /** Told once it has ended. */
  readonly sha256: string | null;
}

class TusUpload {
  readonly #transport: Transport;
  readonly #upload: Upload;
  readonly #hash: Hash = createHash('sha256');
  #hashedBytes = 0;
  #url: string | undefined;
  #transfer: Transfer | undefined;
  #wasResumed = false;

  constructor(transport: Transport, upload: Upload) {
    this.#transport = transport;
    this.#upload = upload;
    this.#url = upload.options.resume;
  }

  async run(): Promise<Uploaded> {
    const { path, source, options } = this.#upload;
    let attempt = 1;
    let reached = -1;
    for (;;) {
      options.signal?.throwIfAborted();
      try {
        const { offset, sha256 } = await this.#stand();
        if (offset > reached) [reached, attempt] = [offset, 1]; // it gets on: the tries begin anew
        const ended = sha256 ?? (await this.#send(offset));
        await this.#mustEqual(ended);
        return { path, bytes: source.bytes, sha256: ended };
      } catch (error) {
        if (!this.#mayGoOn(error) || attempt >= this.#transport.triesMax) throw error;
        await this.#transport.pause(attempt, options.signal);
        attempt += 1;
      }
    }
  }

  /** What passes: a cut, a proxy that is away, a token that ran out, an upload that is gone (it begins anew). */
  #mayGoOn(error: unknown): boolean {
    this.#upload.options.signal?.throwIfAborted();
    if (error instanceof ConnectionError) return true;
    if (!(error instanceof ProblemError)) return false;
    this.#transfer = undefined;
    if (GONE.includes(error.status) && this.#url !== undefined) {
      this.#url = undefined;
      return true;
    }
    return error.status === 401 || PASSING.includes(error.status);
  }

  /** Of an upload that is gone on with; a new one is begun where there is none. */
  async #stand(): Promise<Standing> {
    if (this.#url === undefined) return this.#begin();
    this.#wasResumed = true;
    this.#transfer ??= await this.#upload.transfer({ resume: true });
    const response = await this.#ask(this.#url, { method: 'HEAD' });
    return { offset: Number(response.headers.get('upload-offset')), sha256: response.headers.get('x-berth-sha256') };
  }

  async #begin(): Promise<Standing> {
    this.#transfer = await this.#upload.transfer({ resume: false });
    const headers = { 'upload-length': String(this.#upload.source.bytes) };
    const response = await this.#ask(this.#transfer.uploadUrl, { method: 'POST', headers });
    this.#url = new URL(response.headers.get('location') ?? '', this.#transfer.uploadUrl).href;
    this.#upload.options.onBegun?.(this.#url);
    return { offset: 0, sha256: response.headers.get('x-berth-sha256') };
  }

  async #send(offset: number): Promise<string> {
    const { source, options } = this.#upload;
    const response = await this.#ask(this.#url ?? '', {
      method: 'PATCH',
      headers: { 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) },
      body: toStream(this.#counted(source.open(offset, options.signal), offset)),
      duplex: 'half',
    });
    const sha256 = response.headers.get('x-berth-sha256');
    if (sha256 === null) throw new TransferError(`${this.#upload.path}: the storage did not end the upload`);
    return sha256;
  }

  async *#counted(chunks: AsyncIterable<Uint8Array>, from: number): AsyncGenerator<Uint8Array, void, undefined> {
    let done = from;
    this.#upload.options.onProgress?.(done);
    for await (const chunk of chunks) {
      if (done === this.#hashedBytes) {
        this.#hash.update(chunk);
        this.#hashedBytes += chunk.byteLength;
      }
      done += chunk.byteLength;
      yield chunk;
      this.#upload.options.onProgress?.(done);
    }
  }

  /** Summed up on the way; read once more where a part went over in another try, or in another process. */
  async #mustEqual(stored: string): Promise<void> {
    const { source, options, path } = this.#upload;
    let hash = this.#hash;
    if (this.#hashedBytes !== source.bytes) {
      hash = createHash('sha256');
      for await (const chunk of source.open(0, options.signal)) hash.update(chunk);
    }
    const sha256 = hash.digest('hex');
    if (sha256 === stored) return;
    const why = this.#wasResumed ? ': the file changed since the upload began' : '';
    throw new TransferError(`${path}: sent sha256 ${sha256}, the storage has ${stored}${why}`);
  }

  async #ask(
    url: string,
    init: {
      readonly method: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: ReadableStream<Uint8Array>;
      readonly duplex?: 'half';
    },
  ): Promise<Response> {
    const { signal } = this.#upload.options;
    const response = await this.#transport.sendOnce(url, {
      ...init,
      headers: { ...TUS, ...init.headers, authorization: `Bearer ${this.#transfer?.token}` },
      ...(signal === undefined ? {} : { signal }),
    });
    await response.body?.cancel();
    return response;
  }
}

/** Uploads by tus 1.0: after a cut it goes on from where the storage stands. Throws `TransferError` when the bytes differ. */
export const tusUpload = (transport: Transport, upload: Upload): Promise<Uploaded> =>
  new TusUpload(transport, upload).run();
