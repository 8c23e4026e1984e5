import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal, Role, Route } from '../contract/index.js';
import { hashSecret, KEY_PREFIX, NODE_TOKEN_PREFIX } from '../platform/tokens.js';
import type { Store } from '../store/store.js';
import { notFound, ProblemError, problem } from './problem.js';

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null;
    /** The node whose token the request carries. */
    node: string | null;
    /** Who the rate limit counts for: a digest of the key, or the address where no key was checked. */
    caller: string;
  }
}

const RANKS: Readonly<Record<Role, number>> = { user: 0, 'domain-admin': 1, operator: 2 };
const BEARER = /^Bearer +([\x21-\x7e]{1,512}) *$/i;
const ON_BEHALF_OF = 'berth-on-behalf-of';

const unauthenticated = (detail: string): ProblemError =>
  new ProblemError(
    { code: 'unauthenticated', detail, hint: 'berth login' },
    { headers: { 'www-authenticate': 'Bearer realm="berth"' } },
  );

/** `Bearer <key>`; one format for people's keys and nodes' tokens, told apart by their prefix. */
function bearer(request: FastifyRequest, prefix: string): string {
  const header = request.headers.authorization;
  if (header === undefined) throw unauthenticated('send Authorization: Bearer <API key>');
  const secret = BEARER.exec(header)?.[1];
  if (secret === undefined) throw unauthenticated('the Authorization header is not "Bearer <API key>"');
  if (!secret.startsWith(prefix)) throw unauthenticated(`this is no key for this route: one begins with ${prefix}`);
  return secret;
}

/** An operator may act as another user: rights, quota and ownership are the user's, the audit names both. */
async function actingFor(store: Store, principal: Principal, userName: string): Promise<Principal> {
  if (principal.role !== 'operator') throw problem('forbidden', 'only an operator acts on behalf of another user');
  const user = await store.tenancy.principalOf(userName);
  if (user === null) throw notFound(`user ${JSON.stringify(userName.slice(0, 63))}`);
  const { actingUserId, actingUserName, scope } = principal;
  return { ...user, actingUserId, actingUserName, scope };
}

async function authenticateUser(store: Store, route: Route, request: FastifyRequest): Promise<void> {
  const hash = hashSecret(bearer(request, KEY_PREFIX));
  const principal = await store.tenancy.authenticate(hash);
  if (principal === null) throw unauthenticated('the key is unknown, revoked or expired');
  request.caller = hash.toString('base64url');
  if (principal.scope === 'models') {
    throw problem('forbidden', 'this key may only ask models, at the gateway (its scope is "models")');
  }
  if (principal.scope === 'read' && route.method !== 'GET') {
    throw problem('forbidden', 'this key may only read (its scope is "read")');
  }
  const wanted = request.headers[ON_BEHALF_OF];
  const acting = typeof wanted === 'string' && wanted !== '' ? await actingFor(store, principal, wanted) : principal;
  request.principal = acting;
  const needed: Role = route.access === 'anyone' || route.access === 'node' ? 'user' : route.access;
  if (RANKS[acting.role] < RANKS[needed]) throw problem('forbidden', `this needs the role ${needed}`);
}

async function authenticateNode(store: Store, request: FastifyRequest): Promise<void> {
  const hash = hashSecret(bearer(request, NODE_TOKEN_PREFIX));
  const node = await store.nodes.authenticate(hash);
  if (node === null) throw unauthenticated('the node token is unknown');
  request.caller = hash.toString('base64url');
  const named = (request.params as { name?: string }).name;
  if (named !== node.name) throw problem('forbidden', 'this token is of another node');
  request.node = node.name;
}

/**
 * Finds who calls, once a request and from the database each time: a revoked key is refused from the moment its
 * revocation is committed, by every API process. (One indexed read; a cache would save it and lie for its length.)
 */
export function authenticator(store: Store, route: Route) {
  return async (request: FastifyRequest, _reply: FastifyReply): Promise<void> => {
    request.caller = createHash('sha256').update(request.ip).digest('base64url');
    if (route.access === 'anyone') return;
    if (route.access === 'node') await authenticateNode(store, request);
    else await authenticateUser(store, route, request);
  };
}
