import type { Database } from './database.js';
import type { NodeCache } from './nodes/read-snapshot-nodes.js';
import type { Notifier } from './notifier.js';

/** What each part of the store is made from. */
export interface StoreContext {
  readonly db: Database;
  readonly notifier: Notifier;
  readonly nodeCache: NodeCache;
}
