import type { BudgetStore } from '../budget-store.js';
import type { StoreContext } from '../context.js';
import { changeTree } from './change-tree.js';
import { readForGroup, readMoment } from './for-group.js';
import { turnOn } from './raise-fair-share.js';
import { readChanges } from './read-changes.js';
import { readCharges } from './read-charges.js';
import { readFacts } from './read-facts.js';
import { readPeriods, readVersions } from './read-periods.js';
import { readSettings, writeSettings } from './settings.js';

export function createBudgetStore({ db }: StoreContext): BudgetStore {
  return {
    facts: () => db.transaction(readFacts, 'snapshot'),
    forGroup: (group) => db.transaction(async (tx) => readForGroup(tx, group, await readMoment(tx)), 'snapshot'),
    change: async (lookUp, decide, actor) => {
      const changed = await db.transaction((tx) => changeTree(tx, { lookUp, decide, actor }));
      if ('refused' in changed) return changed;
      return { row: changed.row, kicks: await turnOn(db, changed.groups) };
    },
    changes: (budgetId, page, sight) => readChanges(db, budgetId, { page, sight }),
    charges: (leafIds, limit) => db.transaction((tx) => readCharges(tx, leafIds, limit), 'snapshot'),
    settings: () => readSettings(db),
    putSettings: async (settings, by) => {
      const written = await db.transaction((tx) => writeSettings(tx, settings, by));
      if (written === 'stale') return written;
      return { settings: written.settings, kicks: await turnOn(db, written.groups) };
    },
    periods: (edgesMs) => db.transaction((tx) => readPeriods(tx, edgesMs), 'snapshot'),
    versions: (fromMs) => readVersions(db, fromMs),
  };
}
