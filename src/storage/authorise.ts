import type { FastifyRequest } from 'fastify';
import { ProblemError, problem } from '../api/problem.js';
import { folderPathSchema, type StorageClaims, type StorageOperation, storageClaimsSchema } from '../contract/index.js';
import { TokenRefused, type TokenVerifier } from '../platform/tokens.js';

const BEARER = /^Bearer +([\x21-\x7e]{1,4096}) *$/i;

export interface Allowed extends StorageClaims {
  readonly expiresAtSeconds: number;
  /** Of what the request names; empty for the folder itself. */
  readonly parts: readonly string[];
}
export interface Wanted {
  readonly folderId: string;
  readonly path: string;
  readonly operation: StorageOperation;
}

const refused = (detail: string): ProblemError =>
  new ProblemError(
    { code: 'unauthenticated', detail },
    { headers: { 'www-authenticate': 'Bearer realm="berth-storage"' } },
  );

async function claimsOf(request: FastifyRequest, verifier: TokenVerifier) {
  const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
  if (token === undefined) throw refused("send the transfer's token as Authorization: Bearer");
  const payload = await verifier.verify(token).catch((error: unknown) => {
    throw error instanceof TokenRefused ? refused('the token is not valid here, or has expired') : error;
  });
  const claims = storageClaimsSchema.safeParse(payload);
  if (!claims.success) throw refused('the token is not one for storage');
  return { ...claims.data, expiresAtSeconds: payload.exp ?? 0 };
}

/** The parts of a path that stays in its folder. Throws 400 for one that does not, before anything is looked up. */
export function partsOf(path: string): readonly string[] {
  if (path === '') return [];
  const parsed = folderPathSchema.safeParse(path);
  if (parsed.success) return parsed.data.split('/');
  const message = parsed.error.issues[0]?.message ?? 'not a path in a folder';
  throw problem('invalid_request', message, { errors: [{ pointer: '/path/path', message }] });
}

/** What changes goes to the very path of its token; the others to it or below it. */
const EXACT: ReadonlySet<StorageOperation> = new Set(['write', 'unpack', 'mkdir', 'move']);
const covers = (claims: StorageClaims, { path, operation }: Wanted): boolean =>
  path === claims.path || (!EXACT.has(operation) && (claims.path === '' || path.startsWith(`${claims.path}/`)));

function mustBeFor(claims: StorageClaims, operation: StorageOperation): void {
  if (claims.operation !== operation) throw problem('forbidden', `the token lets you ${claims.operation}`);
}

/** Checks the token against what is asked: 401 for a bad one, 403 for a good one of something else, 400 for an escape. */
export async function authorise(request: FastifyRequest, verifier: TokenVerifier, wanted: Wanted): Promise<Allowed> {
  const claims = await claimsOf(request, verifier);
  const parts = partsOf(wanted.path);
  if (claims.folderId !== wanted.folderId) throw problem('forbidden', 'the token is of another folder');
  mustBeFor(claims, wanted.operation);
  if (!covers(claims, wanted)) throw problem('forbidden', 'the token is of another path');
  return { ...claims, parts };
}

/** For requests whose URL says neither folder nor path: those of the token. */
export async function authoriseOwn(
  request: FastifyRequest,
  verifier: TokenVerifier,
  operation: StorageOperation,
): Promise<Allowed> {
  const claims = await claimsOf(request, verifier);
  mustBeFor(claims, operation);
  return { ...claims, parts: partsOf(claims.path) };
}
