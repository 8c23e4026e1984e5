import {
  type ByteOptions,
  type ByteSource,
  download,
  type FolderEntry,
  type Uploaded,
  upload,
} from '../folder-bytes.js';
import type { BodyOf, CallOptions, QueryOf } from '../operations.js';
import { listOf } from '../pages.js';
import { ConnectionError, UnavailableError } from '../problem-error.js';
import type { Transport } from '../transport.js';

/** `folder` is an id or a name. Bytes go to the storage proxy, under a token for that one operation. */
export const foldersOf = (transport: Transport) => ({
  create: (folder: BodyOf<'createFolder'>, options?: CallOptions) =>
    transport.call('createFolder', { body: folder }, options),
  list: (query: QueryOf<'listFolders'> = {}, options?: CallOptions) =>
    listOf((cursor) => {
      const at = cursor === undefined ? {} : { cursor };
      return transport.call('listFolders', { query: { ...query, ...at } }, options);
    }),
  get: (folder: string, options?: CallOptions) => transport.call('getFolder', { params: { folder } }, options),
  delete: (folder: string, options?: CallOptions) => transport.call('deleteFolder', { params: { folder } }, options),

  /** Writes a file, whole: readers see the old one or the new one. Checked by SHA-256. */
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

  /** A file's bytes as they come, checked by SHA-256 at the end. */
  async *getFile(file: FileIn, options: ByteOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    yield* download(
      transport,
      await transferOf(transport, file, { operation: 'read', signal: options.signal }),
      options,
    );
  },

  async readFile(file: FileIn, options: ByteOptions = {}): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.getFile(file, options)) chunks.push(chunk);
    return Buffer.concat(chunks);
  },

  /** Files and directories below `path`; of the whole folder when it is omitted. */
  async listFiles(folder: string, path?: string, options: CallOptions = {}): Promise<readonly FolderEntry[]> {
    const transfer = await transferOf(transport, { folder, path }, { operation: 'list', signal: options.signal });
    const response = await transport.send({
      method: 'GET',
      url: `${transfer.url}?list=true`,
      headers: { authorization: `Bearer ${transfer.token}`, accept: 'application/json' },
      isRepeatable: true,
      signal: options.signal,
    });
    const answer = (await response.json()) as { items: readonly FolderEntry[] } | readonly FolderEntry[];
    return 'items' in answer ? answer.items : answer;
  },

  /** A second call finds nothing, which is success at the proxy's word only: it may say `not_found`. */
  async deleteFile(file: FileIn, options: CallOptions = {}): Promise<void> {
    const transfer = await transferOf(transport, file, { operation: 'delete', signal: options.signal });
    await transport.send({
      method: 'DELETE',
      url: transfer.url,
      headers: { authorization: `Bearer ${transfer.token}` },
      isRepeatable: true,
      signal: options.signal,
    });
  },
});

/** Where a file lies: its folder, and its path inside with `/` between the parts. */
export interface FileIn {
  readonly folder: string;
  readonly path: string;
}

function transferOf(
  transport: Transport,
  { folder, path }: { readonly folder: string; readonly path: string | undefined },
  how: { readonly operation: 'read' | 'write' | 'list' | 'delete'; readonly signal: AbortSignal | undefined },
) {
  const { operation, signal } = how;
  const body = path === undefined ? { operation } : { operation, path };
  return transport.call('createTransfer', { params: { folder }, body }, { signal });
}
