import { Agent, request } from 'undici';
import type { Folder, StorageClaims, StorageOperation } from '../contract/index.js';
import type { TokenSigner } from '../platform/tokens.js';
import { ProblemError, problem } from './problem.js';

const TOKEN_SECONDS = 600;
const LARGEST_UPLOAD_BYTES = 2 ** 40;
const DELETE_MS = 60_000;

export interface TransferRequest {
  readonly operation: StorageOperation;
  readonly path?: string | undefined;
  readonly maxBytes?: number | undefined;
}
export interface Transfer {
  readonly url: string;
  readonly token: string;
  readonly expiresAt: string;
}

/** The API's side of the storage proxy: tokens for clients, and the removal of a folder's bytes. */
export interface FolderBytes {
  transfer(folder: Pick<Folder, 'id' | 'volume'>, wanted: TransferRequest): Promise<Transfer>;
  /** Removes all bytes of the folder; none there is success. Throws `ProblemError` when the proxy is away. */
  remove(folder: Pick<Folder, 'id' | 'volume'>): Promise<void>;
  ping(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

export function createFolderBytes(signer: TokenSigner, storageUrl: string): FolderBytes {
  const dispatcher = new Agent({ connect: { timeout: 5_000 }, headersTimeout: DELETE_MS, bodyTimeout: DELETE_MS });

  const transfer: FolderBytes['transfer'] = async ({ id, volume }, { operation, path = '', maxBytes }) => {
    const claims: Omit<StorageClaims, 'jti'> = {
      volume,
      folderId: id,
      path,
      operation,
      maxBytes: maxBytes ?? LARGEST_UPLOAD_BYTES,
    };
    const expiresAt = new Date(Date.now() + TOKEN_SECONDS * 1000).toISOString();
    const token = await signer.sign({ audience: 'storage', seconds: TOKEN_SECONDS, claims: { ...claims } });
    return { url: `${storageUrl}/v1/folders/${id}/${encodePath(path)}`, token, expiresAt };
  };

  return {
    transfer,
    async remove(folder) {
      const { url, token } = await transfer(folder, { operation: 'delete' });
      const options = { method: 'DELETE' as const, headers: { authorization: `Bearer ${token}` }, dispatcher };
      const answer = await request(url, options).catch((error: unknown) => {
        const detail = 'the storage proxy does not answer; delete again to finish';
        throw new ProblemError({ code: 'unavailable', detail }, { cause: error });
      });
      await answer.body.dump();
      if (answer.statusCode >= 300 && answer.statusCode !== 404) {
        throw problem('upstream_failed', `the storage proxy answered ${answer.statusCode}`);
      }
    },
    async ping(timeoutMs) {
      const signal = AbortSignal.timeout(timeoutMs);
      const answer = await request(`${storageUrl}/healthz`, { dispatcher, signal });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`the storage proxy answered ${answer.statusCode}`);
    },
    close: () => dispatcher.destroy(),
  };
}
