import type { OperationId } from '../../contract/index.js';
import type { ApiDeps } from '../deps.js';
import type { Handlers } from '../handler.js';
import { found } from '../problem.js';
import { withStarts } from '../queue-starts.js';

type Ids = Extract<OperationId, 'listQueue' | 'getSnapshot'>;

export function queueHandlers(deps: ApiDeps): Handlers<Ids> {
  const { planning, settings } = deps.store;
  return {
    async listQueue({ params, query }, { principal }) {
      const { policy } = found(await settings.getGroup(params.name, principal), `group ${params.name}`);
      const page = found(await planning.queue(params.name, query), `group ${params.name}`);
      if (policy.order !== 'fair-share') return { ...page, items: [...page.items] };
      return { ...page, items: await withStarts(deps, params.name, page.items) };
    },
    getSnapshot: async ({ params }) => found(await planning.snapshot(params.name), `group ${params.name}`),
  };
}
