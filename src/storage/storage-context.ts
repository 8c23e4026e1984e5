import type { FastifyRequest } from 'fastify';
import { problem } from '../api/problem.js';
import type { StorageAdmission, StorageOperation } from '../contract/index.js';
import type { TokenVerifier } from '../platform/tokens.js';
import { type Allowed, authorise } from './authorise.js';
import { type CloneFolder, createCloneFolder } from './clone-folder.js';
import { clearParts } from './parts.js';
import { createSums, type Sums } from './sums.js';
import { openTusUploads, type TusUploads } from './tus-uploads.js';
import { createUsageLedger, type UsageLedger } from './usage-ledger.js';
import { openUsedTokens, type UsedTokens } from './used-tokens.js';
import type { FilePlace } from './walk.js';

export type Volumes = Readonly<Record<string, string>>;
export type Place = Allowed & FilePlace;

/** What the routes of the proxy work with. */
export interface StorageContext {
  readonly volumes: Volumes;
  readonly verifier: TokenVerifier;
  readonly ledger: UsageLedger;
  readonly sums: Sums;
  readonly clone: CloneFolder;
  readonly used: ReadonlyMap<string, UsedTokens>;
  readonly tus: ReadonlyMap<string, TusUploads>;
}

export async function openStorageContext(volumes: Volumes, verifier: TokenVerifier): Promise<StorageContext> {
  const ledger = createUsageLedger(volumes);
  const sums = createSums();
  const used = new Map<string, UsedTokens>();
  const tus = new Map<string, TusUploads>();
  for (const [name, path] of Object.entries(volumes)) {
    await clearParts(path);
    used.set(name, await openUsedTokens(path, () => Date.now() / 1000));
    tus.set(name, await openTusUploads({ name, path }, { ledger, sums }));
  }
  return { volumes, verifier, ledger, sums, used, tus, clone: createCloneFolder() };
}

export function placeOf({ volumes }: Pick<StorageContext, 'volumes'>, allowed: Allowed): Place {
  const volumePath = Object.hasOwn(volumes, allowed.volume) ? volumes[allowed.volume] : undefined;
  if (volumePath === undefined) throw problem('forbidden', `the volume ${allowed.volume} is not served here`);
  return { ...allowed, volumePath };
}

/** The place that the URL names, when its token allows the operation there. */
export async function allow(
  context: StorageContext,
  request: FastifyRequest,
  operation: StorageOperation,
): Promise<Place> {
  const { id: folderId, '*': path = '' } = request.params as { id: string; '*'?: string };
  return placeOf(context, await authorise(request, context.verifier, { folderId, path, operation }));
}

/**
 * Limits of what a token may write, as the API told them before it was signed. Throws 401 when they are not known here (the
 * proxy was started since): a new token brings them.
 */
export function limitsOf({ ledger }: StorageContext, { jti, admitted }: Place): StorageAdmission['limits'] {
  if (admitted !== true) return [];
  const reservation = ledger.reservation(jti);
  if (reservation !== undefined) return reservation.limits;
  throw problem('unauthenticated', 'room is no longer kept for this token: ask for a new one');
}

/** An operation under a token that is good for one: it is used up once the operation takes effect, also after a kill. */
export async function once<Result>(
  context: StorageContext,
  place: Place,
  work: (takeEffect: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const used = context.used.get(place.volume);
  if (used?.take(place.jti, place.expiresAtSeconds) !== true) throw problem('unauthenticated', 'the token is used up');
  let isKept = false;
  try {
    return await work(async () => {
      await used.keep(place.jti, place.expiresAtSeconds);
      isKept = true;
    });
  } catch (error) {
    if (!isKept) used.giveBack(place.jti);
    throw error;
  }
}
