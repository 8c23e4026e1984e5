import type { OperationId } from '../../contract/index.js';
import type { ApiDeps } from '../deps.js';
import type { Handlers } from '../handler.js';
import { found } from '../problem.js';

type Ids = Extract<OperationId, 'listQueue' | 'getSnapshot'>;

export function queueHandlers({ store: { planning, settings } }: ApiDeps): Handlers<Ids> {
  return {
    async listQueue({ params, query }, { principal }) {
      found(await settings.getGroup(params.name, principal), `group ${params.name}`);
      return found(await planning.queue(params.name, query), `group ${params.name}`) as never;
    },
    getSnapshot: async ({ params }) => found(await planning.snapshot(params.name), `group ${params.name}`),
  };
}
