import type { EngineOrder, OperationId } from '../../contract/index.js';
import { isTurnDue } from '../../models/is-turn-due.js';
import type { ApiDeps } from '../deps.js';
import type { Handlers } from '../handler.js';
import { kickPools, signalModels } from '../kick-pools.js';
import { found } from '../problem.js';

type Ids = Extract<OperationId, 'engineOrder' | 'memberLooks'>;

/** What agents ask and tell of engines, each for its own node alone. */
export function modelAgentHandlers(deps: ApiDeps): Handlers<Ids> {
  const { models } = deps.store;
  return {
    async engineOrder({ params }) {
      const { name, instance } = params;
      const given = found(await models.engineOrder(name, instance), `engine ${instance} here`);
      const { order, sealedApiKey, pool, sealedEnvironment } = given;
      const environment =
        sealedEnvironment === null
          ? {}
          : (deps.seal.open(sealedEnvironment, `pool/${pool}`) as EngineOrder['environment']);
      const apiKey = deps.seal.open(sealedApiKey, order.instanceId) as string;
      return { ...order, apiKey, environment, registryCredentials: null };
    },
    async memberLooks({ params, body }) {
      const { kick, signal, remove } = await models.recordLooks(params.name, body.looks, isTurnDue);
      kickPools(deps, kick);
      signalModels(deps, signal);
      return { remove: [...remove] };
    },
  };
}
