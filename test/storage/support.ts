import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StorageClaims, StorageOperation } from '../../src/contract/index.js';
import { newFolderId } from '../../src/platform/ids.js';
import { createRegistry } from '../../src/platform/metrics.js';
import { createStorageProxy } from '../../src/storage/create-storage-proxy.js';
import { log, testKeys } from '../api/support.js';

export interface TestStorage {
  readonly url: string;
  readonly volumeDir: string;
  readonly folderId: StorageClaims['folderId'];
  /** The folder's directory on the volume; not made before the first upload. */
  readonly folderDir: string;
  token(
    operation: StorageOperation,
    path: string,
    more?: Partial<StorageClaims> & { readonly audience?: string; readonly seconds?: number },
  ): Promise<string>;
  /** Asks with a fitting token of its own. */
  send(
    method: string,
    path: string,
    options?: {
      readonly body?: NonNullable<RequestInit['body']>;
      readonly headers?: Record<string, string>;
      readonly query?: string;
      readonly token?: string;
    },
  ): Promise<Response>;
  /** Names below `directory` of the volume, the half-written included. */
  names(directory?: string): string[];
  close(): Promise<void>;
}

const OPERATIONS: Readonly<Record<string, StorageOperation>> = {
  PUT: 'write',
  GET: 'read',
  HEAD: 'read',
  DELETE: 'delete',
};

export async function startTestStorage(): Promise<TestStorage> {
  const { signer, verifyKeys } = await testKeys();
  const volumeDir = mkdtempSync(join(tmpdir(), 'berth-test-volume-'));
  const app = await createStorageProxy({
    volumes: { main: volumeDir },
    verifyKeys,
    log,
    registry: createRegistry('storage'),
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const folderId = newFolderId();

  const token: TestStorage['token'] = (operation, path, { audience = 'storage', seconds = 60, ...more } = {}) =>
    signer.sign({
      audience,
      seconds,
      claims: { volume: 'main', folderId, path, operation, maxBytes: 2 ** 40, ...more },
    });

  return {
    url,
    volumeDir,
    folderId,
    folderDir: join(volumeDir, folderId),
    token,
    async send(method, path, { body, headers = {}, query = '', token: given } = {}) {
      const operation = query.includes('list') ? 'list' : (OPERATIONS[method] ?? 'read');
      const bearer = given ?? (await token(operation, path));
      return fetch(`${url}/v1/folders/${folderId}/${path.split('/').map(encodeURIComponent).join('/')}${query}`, {
        method,
        headers: { authorization: `Bearer ${bearer}`, ...headers },
        ...(body === undefined ? {} : { body, duplex: 'half' }),
      });
    },
    names: (directory = volumeDir) =>
      readdirSync(directory, { recursive: true, withFileTypes: true })
        .filter((entry) => !entry.isDirectory())
        .map(({ parentPath, name }) => join(parentPath, name).slice(directory.length + 1))
        .filter((path) => path !== '.parts/used-tokens')
        .toSorted(),
    async close() {
      await app.close();
      rmSync(volumeDir, { recursive: true, force: true });
    },
  };
}
