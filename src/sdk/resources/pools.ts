import type { z } from 'zod';
import type { dryRunChangeSchema } from '../../contract/index.js';
import type { BodyOf, CallOptions, QueryOf } from '../operations.js';
import { cursorIn, listOf } from '../pages.js';
import type { Transport } from '../transport.js';

/** Warm pools for models. Changes are for operators. */
export const poolsOf = (transport: Transport) => ({
  create: (pool: BodyOf<'createPool'>, options?: CallOptions) => transport.call('createPool', { body: pool }, options),
  /** Whether it could be; changes nothing. */
  dryRun: async (pool: BodyOf<'createPool'>, options?: CallOptions) =>
    (await transport.call('createPool', { body: pool, query: { dryRun: true } }, options)) as unknown as z.infer<
      typeof dryRunChangeSchema
    >,
  list: (query: QueryOf<'listPools'> = {}, options?: CallOptions) =>
    listOf((cursor) => transport.call('listPools', { query: { ...query, ...cursorIn(cursor) } }, options)),
  get: (name: string, options?: CallOptions) => transport.call('getPool', { params: { name } }, options),
  /** What is not named stays. `members` grows and shrinks it: models leave a member before it ends. */
  change: (name: string, change: BodyOf<'changePool'>, options?: CallOptions) =>
    transport.call('changePool', { params: { name }, body: change }, options),
  /** Its models leave and its members end; the pool stays. A second call changes nothing. */
  drain: (name: string, options?: CallOptions) => transport.call('drainPool', { params: { name }, body: {} }, options),
  /** Only without claims. */
  remove: (name: string, options?: CallOptions) => transport.call('removePool', { params: { name } }, options),
  /** The account of each of its GPUs. */
  gpus: async (name: string, options?: CallOptions) =>
    (await transport.call('poolGpus', { params: { name } }, options)).items,
  /** All that a turn of its planner reads; for operators. */
  snapshot: (name: string, options?: CallOptions) => transport.call('poolSnapshot', { params: { name } }, options),
});
