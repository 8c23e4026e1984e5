import type { OperationId } from '../../contract/index.js';
import type { ApiDeps } from '../deps.js';
import type { Handlers } from '../handler.js';

type Ids = Extract<OperationId, 'listUsage' | 'reportNodeUsage'>;

/** A node tells what it measured; people see that of the sessions that they may see. */
export function usageHandlers({ store }: ApiDeps): Handlers<Ids> {
  return {
    listUsage: ({ query }, { principal }) => store.usage.list(query, principal) as never,
    reportNodeUsage: ({ params, body }) => store.usage.record(params.name, body) as never,
  };
}
