import type { BodyOf, CallOptions, QueryOf } from '../operations.js';
import { cursorIn, listOf } from '../pages.js';
import type { Transport } from '../transport.js';

/** Changes are for operators. Each may be called twice: the second changes nothing. */
export const nodesOf = (transport: Transport) => ({
  /** The answer holds the agent's token, this once. */
  create: (node: BodyOf<'createNode'>, options?: CallOptions) => transport.call('createNode', { body: node }, options),
  list: (query: QueryOf<'listNodes'> = {}, options?: CallOptions) =>
    listOf((cursor) => transport.call('listNodes', { query: { ...query, ...cursorIn(cursor) } }, options)),
  get: (name: string, options?: CallOptions) => transport.call('getNode', { params: { name } }, options),
  delete: (name: string, options?: CallOptions) => transport.call('deleteNode', { params: { name } }, options),

  cordon: (name: string, reason?: string, options?: CallOptions) =>
    transport.call('cordonNode', { params: { name }, body: reason === undefined ? {} : { reason } }, options),
  /** Ends a cordon, and a drain that was begun by hand. */
  uncordon: (name: string, options?: CallOptions) => transport.call('uncordonNode', { params: { name } }, options),

  /** Its work leaves as minimum runtimes expire, and all of it at the deadline. The answer says who stops when. */
  drain: (name: string, how: BodyOf<'drainNode'> = {}, options?: CallOptions) =>
    transport.call('drainNode', { params: { name }, body: how }, options),
  /** What that drain would do; changes nothing. */
  dryRunDrain: (name: string, how: BodyOf<'drainNode'> = {}, options?: CallOptions) =>
    transport.call('drainNode', { params: { name }, body: how, query: { dryRun: true } }, options),
  /** Who stops when, of a drain that is under way or would begin now. */
  drainPlan: (name: string, options?: CallOptions) => transport.call('nodeDrainPlan', { params: { name } }, options),

  /** It drains until it is marked healthy. */
  markUnhealthy: (name: string, reason: string, options?: CallOptions) =>
    transport.call('markNodeUnhealthy', { params: { name }, body: { reason } }, options),
  markHealthy: (name: string, options?: CallOptions) =>
    transport.call('markNodeHealthy', { params: { name } }, options),

  /** To another group, now or in time for `at`: it drains first. */
  move: (name: string, move: BodyOf<'moveNode'>, options?: CallOptions) =>
    transport.call('moveNode', { params: { name }, body: move }, options),
  cancelMove: (name: string, options?: CallOptions) => transport.call('cancelNodeMove', { params: { name } }, options),

  /** Brings images to it ahead of demand. The answer does not wait for them: `get(name)` lists what it holds. */
  warm: (name: string, images: readonly string[], options?: CallOptions) =>
    transport.call('warmNode', { params: { name }, body: { images: [...images] } }, options),
});
