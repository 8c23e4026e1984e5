import type { z } from 'zod';
import type { dryRunChangeSchema, ModelClaim } from '../../contract/index.js';
import type { BodyOf, CallOptions, QueryOf } from '../operations.js';
import { cursorIn, listOf } from '../pages.js';
import type { Transport } from '../transport.js';
import { type WaitForModel, waitForModel } from '../wait-for-model.js';

/** Claims of models, by id or by model name. */
export const modelsOf = (transport: Transport) => ({
  claim: (claim: BodyOf<'createModelClaim'>, options?: CallOptions) =>
    transport.call('createModelClaim', { body: claim }, options),
  /** Whether it would be taken; changes nothing. */
  dryRun: async (claim: BodyOf<'createModelClaim'>, options?: CallOptions) =>
    (await transport.call('createModelClaim', { body: claim, query: { dryRun: true } }, options)) as unknown as z.infer<
      typeof dryRunChangeSchema
    >,
  list: (query: QueryOf<'listModelClaims'> = {}, options?: CallOptions) =>
    listOf((cursor) => transport.call('listModelClaims', { query: { ...query, ...cursorIn(cursor) } }, options)),
  get: (claim: string, options?: CallOptions) => transport.call('getModelClaim', { params: { claim } }, options),
  /** `perGpu`, `priority`, `kvMin`, `kvMax` and `sleep`; what is not named stays. */
  change: (claim: string, change: BodyOf<'changeModelClaim'>, options?: CallOptions) =>
    transport.call('changeModelClaim', { params: { claim }, body: change }, options),
  /** Once nothing is in flight. */
  sleep: (claim: string, options?: CallOptions) =>
    transport.call('sleepModel', { params: { claim }, body: {} }, options),
  /** Asks for it, as a request at the gateway does. */
  wake: (claim: string, options?: CallOptions) => transport.call('wakeModel', { params: { claim }, body: {} }, options),
  /** Drained, then ended. A second call changes nothing. */
  remove: (claim: string, options?: CallOptions) => transport.call('removeModelClaim', { params: { claim } }, options),
  /** Everything that happened to it, oldest first. */
  history: (claim: string, query: QueryOf<'modelHistory'> = {}, options?: CallOptions) =>
    listOf((cursor) =>
      transport.call('modelHistory', { params: { claim }, query: { ...query, ...cursorIn(cursor) } }, options),
    ),
  /** `perGpu` figures from what was measured of it. */
  suggest: (claim: string, options?: CallOptions) => transport.call('suggestPerGpu', { params: { claim } }, options),
  /** Requests and tokens by hour, key, project and model. */
  usage: (query: QueryOf<'modelUsage'> = {}, options?: CallOptions) =>
    listOf((cursor) => transport.call('modelUsage', { query: { ...query, ...cursorIn(cursor) } }, options)),
  keyLimits: (key: string, options?: CallOptions) => transport.call('getModelKeyLimits', { params: { key } }, options),
  /** Sets all three; what is left out has no limit. */
  putKeyLimits: (key: string, limits: BodyOf<'putModelKeyLimits'>, options?: CallOptions) =>
    transport.call('putModelKeyLimits', { params: { key }, body: limits }, options),
  /**
   * Until it serves, or cannot by waiting (too large, failed): look at `phase` and `reason`. `onChange` hears each change.
   * Throws `WaitTimeoutError`.
   */
  wait: (claim: string, options: WaitForModel = {}): Promise<ModelClaim> => waitForModel(transport, claim, options),
});
