import { randomBytes } from 'node:crypto';
import { Agent, type Dispatcher, request } from 'undici';
import type {
  Folder,
  FolderId,
  FolderUsage,
  Problem,
  StorageAdmission,
  StorageClaims,
  StorageOperation,
} from '../contract/index.js';
import type { TokenSigner } from '../platform/tokens.js';
import { ProblemError, problem } from './problem.js';

const TOKEN_SECONDS = 600;
const LARGEST_UPLOAD_BYTES = 2 ** 40;
const DELETE_MS = 60_000;

export interface TransferRequest {
  readonly operation: StorageOperation;
  readonly path?: string | undefined;
  readonly to?: string | undefined;
  readonly maxBytes?: number | undefined;
  readonly resume?: boolean | undefined;
  /** What binds the folder's bytes: room is kept for a write before its token is signed. */
  readonly limits?: StorageAdmission['limits'];
}
export interface Transfer {
  readonly url: string;
  readonly uploadUrl: string;
  readonly token: string;
  readonly expiresAt: string;
}
type Place = Pick<Folder, 'id' | 'volume'>;

/** The API's side of the storage proxy: tokens for clients, counts, clones, and the removal of a folder's bytes. */
export interface FolderBytes {
  /** Throws 413 where the limits leave no room. */
  transfer(folder: Place, wanted: TransferRequest): Promise<Transfer>;
  /** Counted now. */
  usage(folder: Place): Promise<Omit<FolderUsage, 'folder'>>;
  /** Copies all bytes to a folder that has none; once it is done, it is success. `waitMs` ends the wait, not the copy. */
  clone(
    source: Place,
    target: FolderId,
    how: { readonly limits: StorageAdmission['limits']; readonly waitMs: number },
  ): Promise<void>;
  /** Removes all bytes of the folder; none there is success. Throws `ProblemError` when the proxy is away. */
  remove(folder: Place): Promise<void>;
  ping(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

/** What the proxy refuses is refused in its words; everything else is its failure. */
async function mustBeOk(answer: Dispatcher.ResponseData): Promise<unknown> {
  const text = await answer.body.text();
  if (answer.statusCode < 300) return text === '' ? null : JSON.parse(text);
  const told = answer.headers['content-type']?.includes('problem+json') === true ? (JSON.parse(text) as Problem) : null;
  if (told?.code === 'too_large' || told?.code === 'unavailable') {
    const { code, detail, hint, retryAfterSeconds } = told;
    throw problem(code, detail, {
      ...(hint === undefined ? {} : { hint }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    });
  }
  throw problem('upstream_failed', `the storage proxy answered ${answer.statusCode}`);
}

interface Asking {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly token: string;
  readonly body?: object;
  readonly signal?: AbortSignal;
}

const away = (error: unknown): never => {
  const detail = 'the storage proxy does not answer; try again';
  throw new ProblemError({ code: 'unavailable', detail }, { cause: error });
};

/** Tokens, and questions to the proxy under them. */
function askingProxy(signer: TokenSigner, storageUrl: string, dispatcher: Agent) {
  const sign = ({ id, volume }: Place, claims: Partial<StorageClaims> & Pick<StorageClaims, 'operation'>) =>
    signer.sign({
      audience: 'storage',
      seconds: TOKEN_SECONDS,
      claims: { volume, folderId: id, path: '', maxBytes: LARGEST_UPLOAD_BYTES, ...claims },
    });

  const ask = async ({ method, url, token, body, signal }: Asking): Promise<unknown> => {
    const options = {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      dispatcher,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    };
    return mustBeOk(await request(`${storageUrl}${url}`, options).catch(away));
  };

  /** Room for a token to come, under the id that it will have; undefined where nothing binds. */
  async function admit(
    folder: Place,
    { limits, bytes }: { readonly limits: StorageAdmission['limits']; readonly bytes: number | null },
  ): Promise<{ readonly jti: string; readonly admitted: true } | undefined> {
    if (limits.length === 0) return undefined;
    const jti = randomBytes(16).toString('base64url');
    const body: StorageAdmission = {
      jti,
      expiresAtSeconds: Math.ceil(Date.now() / 1000) + TOKEN_SECONDS,
      folderId: folder.id,
      bytes,
      limits,
    };
    await ask({ method: 'POST', url: '/v1/admissions', token: await sign(folder, { operation: 'admit' }), body });
    return { jti, admitted: true };
  }

  return { sign, ask, admit };
}

export function createFolderBytes(signer: TokenSigner, storageUrl: string): FolderBytes {
  const dispatcher = new Agent({ connect: { timeout: 5_000 }, headersTimeout: DELETE_MS, bodyTimeout: DELETE_MS });
  const { sign, ask, admit } = askingProxy(signer, storageUrl, dispatcher);

  const usage: FolderBytes['usage'] = async (folder) => {
    const token = await sign(folder, { operation: 'usage' });
    return (await ask({ method: 'GET', url: `/v1/usage/${folder.id}`, token })) as Omit<FolderUsage, 'folder'>;
  };

  return {
    async transfer(folder, { operation, path = '', to, maxBytes, resume, limits = [] }) {
      const admitted = resume === true ? undefined : await admit(folder, { limits, bytes: maxBytes ?? null });
      const expiresAt = new Date(Date.now() + TOKEN_SECONDS * 1000).toISOString();
      const token = await sign(folder, {
        operation,
        path,
        ...(maxBytes === undefined ? {} : { maxBytes }),
        ...(to === undefined ? {} : { to }),
        ...(resume === undefined ? {} : { resume }),
        ...admitted,
      });
      const url = `${storageUrl}/v1/folders/${folder.id}/${encodePath(path)}`;
      return { url, uploadUrl: `${storageUrl}/v1/uploads/${folder.volume}`, token, expiresAt };
    },
    usage,
    async clone(source, target, { limits, waitMs }) {
      const bytes = limits.length === 0 ? 0 : (await usage(source)).bytes;
      const admitted = await admit({ ...source, id: target }, { limits, bytes });
      const token = await sign(source, { operation: 'clone', to: target, ...admitted });
      await ask({ method: 'POST', url: `/v1/clones/${target}`, token, signal: AbortSignal.timeout(waitMs) });
    },
    async remove(folder) {
      const token = await sign(folder, { operation: 'delete' });
      await ask({ method: 'DELETE', url: `/v1/folders/${folder.id}`, token });
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
