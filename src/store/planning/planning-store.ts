import type { Snapshot } from '../../contract/index.js';
import type { StoreContext } from '../context.js';
import type { PlanningStore } from '../store.js';
import { markDirty } from './dirty.js';
import { dueSignals } from './due-signals.js';
import { headText } from './head-text.js';
import { openPass } from './open-pass.js';
import { readQueue } from './queue.js';
import { readBase } from './read-base.js';
import { readPending } from './read-pending.js';
import { why } from './why.js';

const SNAPSHOT_LIMIT = 20_000;

export function createPlanningStore(context: StoreContext): PlanningStore {
  const { db, nodeCache } = context;
  return {
    openPass: (group, waitMs) => openPass(context, group, waitMs),
    markDirty: (group, onlyIfWaiting = false) => markDirty(db, group, onlyIfWaiting),
    dueSignals: (query) => dueSignals(db, query),
    snapshot: (group, limit = SNAPSHOT_LIMIT) =>
      db.transaction(async (tx): Promise<Snapshot | null> => {
        const found = await readBase(tx, group, { cache: nodeCache, running: 'always' });
        if (found === null) return null;
        const { page } = await readPending(tx, group, { after: null, limit });
        return { ...found.base, pending: [...page] };
      }, 'snapshot'),
    queue: (group, page) => db.transaction((tx) => readQueue(tx, group, page), 'snapshot'),
    headText: (group) => db.transaction((tx) => headText(tx, group), 'snapshot'),
    why: (sessionId) => db.transaction((tx) => why(tx, sessionId), 'snapshot'),
  };
}
