import type { BodyOf, CallOptions, QueryOf } from '../operations.js';
import { cursorIn, listOf } from '../pages.js';
import type { Transport } from '../transport.js';

export const groupsOf = (transport: Transport) => ({
  create: (group: BodyOf<'createGroup'>, options?: CallOptions) =>
    transport.call('createGroup', { body: group }, options),
  list: (query: QueryOf<'listGroups'> = {}, options?: CallOptions) =>
    listOf((cursor) => transport.call('listGroups', { query: { ...query, ...cursorIn(cursor) } }, options)),
  get: (name: string, options?: CallOptions) => transport.call('getGroup', { params: { name } }, options),
  /** A merge patch: what is not named stays. Give `ifMatch`, the group's `etag`. */
  patch: (name: string, patch: BodyOf<'patchGroup'>, options?: CallOptions) =>
    transport.call('patchGroup', { params: { name }, body: patch }, options),
});

export const queueOf = (transport: Transport) => ({
  /** Who waits, in order. */
  list: (group: string, query: QueryOf<'listQueue'> = {}, options?: CallOptions) =>
    listOf((cursor) =>
      transport.call('listQueue', { params: { name: group }, query: { ...query, ...cursorIn(cursor) } }, options),
    ),
  /** All that the next pass decides from; `berth plan` plans it. */
  snapshot: (group: string, options?: CallOptions) =>
    transport.call('getSnapshot', { params: { name: group } }, options),
});

export interface QuotaOf {
  readonly scope: 'user' | 'project' | 'domain';
  /** A user, a project as domain/project, or a domain. */
  readonly name: string;
}

const quotaParams = ({ scope, name }: QuotaOf) => ({ scope, name: name.replace('/', '~') });

export const quotasOf = (transport: Transport) => ({
  list: (query: QueryOf<'listQuotas'> = {}, options?: CallOptions) =>
    listOf((cursor) => transport.call('listQuotas', { query: { ...query, ...cursorIn(cursor) } }, options)),
  get: (quota: QuotaOf, options?: CallOptions) => transport.call('getQuota', { params: quotaParams(quota) }, options),
  /** Sets all limits: one that is not named does not bind any more. Give `ifMatch`, the quota's `etag`. */
  put: (quota: QuotaOf, limits: BodyOf<'putQuota'>, options?: CallOptions) =>
    transport.call('putQuota', { params: quotaParams(quota), body: limits }, options),
});
