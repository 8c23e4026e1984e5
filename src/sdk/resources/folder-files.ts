import type { TreeSum } from '../../contract/index.js';
import {
  type ByteOptions,
  type ByteSource,
  type Download,
  type DownloadFrom,
  download,
  type FolderEntry,
  openDownload,
  type Transfer,
  toStream,
  type Uploaded,
  upload,
} from '../folder-bytes.js';
import type { CallOptions } from '../operations.js';
import { ConnectionError, NotFoundError, ProblemError, UnavailableError } from '../problem-error.js';
import { type SmallFile, tarBatch } from '../tar-batch.js';
import type { Transport } from '../transport.js';
import { type SizedSource, tusUpload, type UploadOptions } from '../tus-upload.js';

/** Where a file lies: its folder, and its path inside with `/` between the parts. */
export interface FileIn {
  readonly folder: string;
  readonly path: string;
}
export interface PlaceIn {
  readonly folder: string;
  readonly path?: string | undefined;
}
type Operation = 'read' | 'write' | 'list' | 'delete' | 'unpack' | 'mkdir' | 'move';
interface Wanted {
  readonly operation: Operation;
  readonly to?: string | undefined;
  readonly maxBytes?: number | undefined;
  readonly resume?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

function transferOf(transport: Transport, { folder, path }: PlaceIn, wanted: Wanted): Promise<Transfer> {
  const { signal, operation, to, maxBytes, resume } = wanted;
  const body = {
    operation,
    ...(path === undefined ? {} : { path }),
    ...(to === undefined ? {} : { to }),
    ...(maxBytes === undefined ? {} : { maxBytes }),
    ...(resume === true ? { resume } : {}),
  };
  return transport.call('createTransfer', { params: { folder }, body }, { signal });
}

/** A read under a token of its own; `query` as `?list=true`. */
async function read(transport: Transport, place: PlaceIn, how: Wanted & { readonly query: string }): Promise<Response> {
  const transfer = await transferOf(transport, place, how);
  return transport.send({
    method: 'GET',
    url: `${transfer.url}${how.query}`,
    headers: { authorization: `Bearer ${transfer.token}`, accept: 'application/json' },
    isRepeatable: true,
    signal: how.signal,
  });
}

interface Change extends Wanted {
  readonly method: 'POST' | 'DELETE';
  readonly query: string;
  /** Opened anew for each try. */
  readonly body?: (() => AsyncIterable<Uint8Array>) | undefined;
  /** The error of a later try that says: an earlier one did it, and its answer was lost. */
  readonly isDone?: (error: ProblemError) => boolean;
}

/**
 * A change under a token that is good for one: each try has its own. When an answer was lost, what the next try finds done
 * (`isDone`) is success.
 */
async function change(
  transport: Transport,
  place: PlaceIn,
  { method, query, body, isDone = () => false, ...how }: Change,
): Promise<Response | null> {
  let wasLost = false;
  for (let attempt = 1; ; attempt += 1) {
    const transfer = await transferOf(transport, place, how);
    try {
      return await transport.sendOnce(`${transfer.url}${query}`, {
        method,
        headers: { authorization: `Bearer ${transfer.token}` },
        ...(body === undefined ? {} : { body: toStream(body()), duplex: 'half' as const }),
        ...(how.signal === undefined ? {} : { signal: how.signal }),
      });
    } catch (error) {
      if (wasLost && error instanceof ProblemError && isDone(error)) return null;
      const isPassing = error instanceof ConnectionError || error instanceof UnavailableError;
      if (!isPassing || attempt >= transport.triesMax) throw error;
      wasLost ||= error instanceof ConnectionError;
      await transport.pause(attempt, how.signal);
    }
  }
}

const isNotFound = (error: ProblemError): boolean => error instanceof NotFoundError;

const uploadsOf = (transport: Transport) => ({
  /** Writes a file in one request, whole: readers see the old one or the new one. Checked by SHA-256. A cut begins anew. */
  async putFile(file: FileIn, source: ByteSource, options: ByteOptions = {}): Promise<Uploaded> {
    for (let attempt = 1; ; attempt += 1) {
      const transfer = await transferOf(transport, file, { operation: 'write', signal: options.signal });
      try {
        return await upload(transport, transfer, { source, options });
      } catch (error) {
        const isPassing = error instanceof ConnectionError || error instanceof UnavailableError;
        if (!isPassing || attempt >= transport.triesMax) throw error;
        await transport.pause(attempt, options.signal);
      }
    }
  },

  /** Writes a file of known length by tus: a cut goes on from where the storage stands. Checked by SHA-256. */
  uploadFile: (file: FileIn, source: SizedSource, options: UploadOptions = {}): Promise<Uploaded> =>
    tusUpload(transport, {
      path: file.path,
      source,
      options,
      transfer: ({ resume }) =>
        transferOf(transport, file, { operation: 'write', maxBytes: source.bytes, resume, signal: options.signal }),
    }),

  /** Writes many small files in one request, each whole; below `path`, or in the folder itself. `maxBytes`: all together. */
  async putFiles(
    place: PlaceIn,
    files: readonly SmallFile[],
    options: ByteOptions & { readonly maxBytes?: number | undefined } = {},
  ): Promise<readonly Uploaded[]> {
    const { signal, onProgress, maxBytes } = options;
    const body = () => {
      let done = 0;
      return tarBatch(files, (bytes) => onProgress?.((done += bytes)));
    };
    const wanted = { method: 'POST', query: '?unpack=tar', operation: 'unpack', body, maxBytes, signal } as const;
    const response = await change(transport, place, wanted);
    return ((await response?.json()) as { items: readonly Uploaded[] }).items;
  },
});

const readsOf = (transport: Transport) => ({
  /** A file's bytes as they come, checked by SHA-256 at the end. A cut is gone on with. */
  async *getFile(file: FileIn, options: ByteOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const transfer = () => transferOf(transport, file, { operation: 'read', signal: options.signal });
    yield* download(transport, { transfer, options, wantsSum: true });
  },

  /** Opens a file, from a byte of a known version on where one is named: for going on with what was saved of it. */
  openFile: (file: FileIn, options: ByteOptions & { readonly from?: DownloadFrom } = {}): Promise<Download> =>
    openDownload(transport, {
      transfer: () => transferOf(transport, file, { operation: 'read', signal: options.signal }),
      options,
      from: options.from,
      wantsSum: true,
    }),

  async readFile(file: FileIn, options: ByteOptions = {}): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.getFile(file, options)) chunks.push(chunk);
    return Buffer.concat(chunks);
  },

  /** A folder, or what is below a path, as one tar or zip. */
  async *archive(
    place: PlaceIn & { readonly select?: readonly string[] },
    kind: 'tar' | 'zip',
    options: CallOptions = {},
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const chosen = (place.select ?? []).map((path) => `&select=${encodeURIComponent(path)}`).join('');
    const how = { operation: 'read', signal: options.signal, query: `?archive=${kind}${chosen}` } as const;
    const response = await read(transport, place, how);
    if (response.body !== null) yield* response.body;
  },

  /** Files and directories below `path`; of the whole folder when it is omitted. */
  async listFiles(folder: string, path?: string, options: CallOptions = {}): Promise<readonly FolderEntry[]> {
    const how = { operation: 'list', signal: options.signal, query: '?list=true' } as const;
    const answer = (await (await read(transport, { folder, path }, how)).json()) as
      | { items: readonly FolderEntry[] }
      | readonly FolderEntry[];
    return 'items' in answer ? answer.items : answer;
  },

  async statFile(file: FileIn, options: CallOptions = {}): Promise<FolderEntry> {
    const how = { operation: 'list', signal: options.signal, query: '?stat=true' } as const;
    return (await (await read(transport, file, how)).json()) as FolderEntry;
  },

  /** SHA-256 of all files below: one sum of all, and with `items` each. */
  async treeSum(place: PlaceIn & { readonly items?: boolean }, options: CallOptions = {}): Promise<TreeSum> {
    const query = `?checksum=tree${place.items === true ? '&items=true' : ''}`;
    const how = { operation: 'read', signal: options.signal, query } as const;
    return (await (await read(transport, place, how)).json()) as TreeSum;
  },
});

const changesOf = (transport: Transport) => ({
  /** Makes a directory and those above it; one that is there is success. */
  async makeDirectory(file: FileIn, options: CallOptions = {}): Promise<void> {
    await change(transport, file, { method: 'POST', query: '?mkdir=true', operation: 'mkdir', signal: options.signal });
  },

  /** Renames within a folder; nothing is replaced. */
  async moveFile(file: FileIn, to: string, options: CallOptions = {}): Promise<void> {
    const { signal } = options;
    const wanted = { method: 'POST', query: '?move=true', operation: 'move', to, signal, isDone: isNotFound } as const;
    await change(transport, file, wanted);
  },

  /** Removes a file, or a directory with all in it. */
  async deleteFile(file: FileIn, options: CallOptions = {}): Promise<void> {
    const { signal } = options;
    const wanted = { method: 'DELETE', query: '', operation: 'delete', signal, isDone: isNotFound } as const;
    await change(transport, file, wanted);
  },
});

/** Files in folders. Bytes go to the storage proxy, under a token for that one operation. */
export const folderFilesOf = (transport: Transport) => ({
  ...uploadsOf(transport),
  ...readsOf(transport),
  ...changesOf(transport),
});
