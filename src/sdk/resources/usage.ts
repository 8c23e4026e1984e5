import type { CallOptions, QueryOf } from '../operations.js';
import { cursorIn, listOf } from '../pages.js';
import type { Transport } from '../transport.js';

export const usageOf = (transport: Transport) => ({
  /** Live use of the running sessions that you may see, newest first, with their devices and how idle they are. */
  list: (query: QueryOf<'listUsage'> = {}, options?: CallOptions) =>
    listOf((cursor) => transport.call('listUsage', { query: { ...query, ...cursorIn(cursor) } }, options)),
});
