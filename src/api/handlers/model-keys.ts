import type { OperationId, Principal } from '../../contract/index.js';
import type { ApiDeps } from '../deps.js';
import type { Checks, Handlers } from '../handler.js';
import { modelScopeOf } from '../model-scope.js';
import { found } from '../problem.js';

type Ids = Extract<OperationId, 'getModelKeyLimits' | 'putModelKeyLimits' | 'modelUsage'>;

/** A key of the caller's own, or of the domain for its admin. */
async function mustSeeKey({ store }: ApiDeps, key: string, principal: Principal): Promise<void> {
  found(await store.tenancy.getKey(key, principal), `key ${key}`);
}

export const modelKeyChecks = (deps: ApiDeps) => {
  const sees = ({ params }: { params: { key: string } }, { principal }: { principal: Principal }) =>
    mustSeeKey(deps, params.key, principal);
  return { getModelKeyLimits: sees, putModelKeyLimits: sees } satisfies Checks;
};

/** Which models a key may use at the gateway and how fast, and what was used. */
export function modelKeyHandlers({ store }: ApiDeps): Handlers<Ids> {
  const { models, tenancy } = store;
  return {
    getModelKeyLimits: async ({ params }) => found(await models.keyLimits(params.key), `key ${params.key}`),
    putModelKeyLimits: async ({ params, body }, { principal }) =>
      found(await models.putKeyLimits(params.key, body, principal.actingUserName), `key ${params.key}`),
    modelUsage: async ({ query }, { principal }) =>
      (await models.usage(query, await modelScopeOf(tenancy, principal))) as never,
  };
}
