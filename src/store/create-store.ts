import { createAppStore } from './apps.js';
import { createBudgetStore } from './budgets/budget-store-of.js';
import type { StoreContext } from './context.js';
import { createControlStore } from './control/control-store.js';
import { type DatabaseOptions, openDatabase } from './database.js';
import { createDeploymentStore } from './deployments/deployment-store-of.js';
import { createEventStore } from './events.js';
import { createFolderStore } from './folders/folder-store.js';
import { createIdempotencyStore } from './idempotency.js';
import { migrate } from './migrate.js';
import { createModelStore } from './models/model-store-of.js';
import { createNodeStore } from './nodes/node-store.js';
import { createNotifier } from './notifier.js';
import { createPlanningStore } from './planning/planning-store.js';
import { createReportStore } from './reports/report-store-of.js';
import { createSessionStore } from './sessions/session-store-of.js';
import { createSettingsStore } from './settings/settings-store.js';
import { sql } from './sql.js';
import type { Store } from './store.js';
import { createTenancyStore } from './tenancy/tenancy-store.js';
import { createUsageStore } from './usage/usage-store-of.js';

/** The ledger on Postgres 15 or later. Connections come when they are needed, and come back after Postgres was away. */
export function createStore(options: DatabaseOptions): Store {
  const db = openDatabase(options);
  const context: StoreContext = { db, notifier: createNotifier(db), nodeCache: new Map() };
  return {
    sessions: createSessionStore(context),
    planning: createPlanningStore(context),
    nodes: createNodeStore(context),
    tenancy: createTenancyStore(context),
    settings: createSettingsStore(context),
    budgets: createBudgetStore(context),
    folders: createFolderStore(context),
    apps: createAppStore(context),
    idempotency: createIdempotencyStore(context),
    events: createEventStore(context),
    reports: createReportStore(context),
    control: createControlStore(context),
    usage: createUsageStore(context),
    models: createModelStore(context),
    deployments: createDeploymentStore(context),
    migrate: () => migrate(db),
    ping: async () => {
      await db.first(sql`SELECT 1`);
    },
    close: async () => {
      await context.notifier.settled();
      await db.pool.end();
    },
  };
}
