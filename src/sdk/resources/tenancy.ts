import type { BodyOf, CallOptions, QueryOf } from '../operations.js';
import { listOf } from '../pages.js';
import type { Transport } from '../transport.js';

const at = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor });

export const keysOf = (transport: Transport) => ({
  /** The answer holds the secret, this once. */
  create: (key: BodyOf<'createKey'>, options?: CallOptions) => transport.call('createKey', { body: key }, options),
  list: (query: QueryOf<'listKeys'> = {}, options?: CallOptions) =>
    listOf((cursor) => transport.call('listKeys', { query: { ...query, ...at(cursor) } }, options)),
  revoke: (key: string, options?: CallOptions) => transport.call('revokeKey', { params: { key } }, options),
});

export const usersOf = (transport: Transport) => ({
  create: (user: BodyOf<'createUser'>, options?: CallOptions) => transport.call('createUser', { body: user }, options),
  list: (query: QueryOf<'listUsers'> = {}, options?: CallOptions) =>
    listOf((cursor) => transport.call('listUsers', { query: { ...query, ...at(cursor) } }, options)),
});

export interface Membership {
  readonly domain: string;
  readonly project: string;
  readonly user: string;
}

export const projectsOf = (transport: Transport) => ({
  create: (project: BodyOf<'createProject'>, options?: CallOptions) =>
    transport.call('createProject', { body: project }, options),
  list: (query: QueryOf<'listProjects'> = {}, options?: CallOptions) =>
    listOf((cursor) => transport.call('listProjects', { query: { ...query, ...at(cursor) } }, options)),
  /** A second call changes the role, or nothing. */
  putMember: ({ domain, project, user }: Membership, role: 'member' | 'manager' = 'member', options?: CallOptions) =>
    transport.call('putMember', { params: { domain, project, user }, body: { role } }, options),
  removeMember: ({ domain, project, user }: Membership, options?: CallOptions) =>
    transport.call('removeMember', { params: { domain, project, user } }, options),
});

export const domainsOf = (transport: Transport) => ({
  create: (domain: BodyOf<'createDomain'>, options?: CallOptions) =>
    transport.call('createDomain', { body: domain }, options),
  list: (query: QueryOf<'listDomains'> = {}, options?: CallOptions) =>
    listOf((cursor) => transport.call('listDomains', { query: { ...query, ...at(cursor) } }, options)),
});

export const auditOf = (transport: Transport) => ({
  list: (query: QueryOf<'listAudit'> = {}, options?: CallOptions) =>
    listOf((cursor) => transport.call('listAudit', { query: { ...query, ...at(cursor) } }, options)),
});
