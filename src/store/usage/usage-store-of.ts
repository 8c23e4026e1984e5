import type { StoreContext } from '../context.js';
import type { UsageStore } from '../usage-store.js';
import { recordActivity, sweepUsage } from './activity.js';
import { gpuUsed } from './gpu-used.js';
import { idleCandidates } from './idle-candidates.js';
import { listUsage } from './list-usage.js';
import { recordUsage } from './record-usage.js';
import { forgetIdle, settleIdle } from './settle-idle.js';

export function createUsageStore({ db, notifier }: StoreContext): UsageStore {
  return {
    record: (node, usage) => db.transaction((tx) => recordUsage(tx, node, usage)),
    recordActivity: (report) => db.transaction((tx) => recordActivity(tx, report)),
    list: (query, viewer) => listUsage(db, query, viewer),
    idleCandidates: (after, limit) => idleCandidates(db, after, limit),
    settleIdle: async (orders) => {
      const { signals, changed } = await settleIdle(db, orders);
      notifier.changed(changed);
      return signals;
    },
    forgetIdle: () => forgetIdle(db),
    gpuUsed: (query) => gpuUsed(db, query),
    sweep: () => db.transaction((tx) => sweepUsage(tx)),
  };
}
