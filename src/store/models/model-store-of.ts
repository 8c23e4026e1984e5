import type { StoreContext } from '../context.js';
import type { ModelStore } from '../model-store.js';
import { sql } from '../sql.js';
import { askWakes } from './ask-wakes.js';
import { askSleep, changeClaim, endClaim } from './change-claim.js';
import { changePool, createPool, orProblem, removePool } from './change-pool.js';
import { claimLife } from './claim-life.js';
import { createClaim } from './create-claim.js';
import { engineOrder } from './engine-order.js';
import { readMeasured } from './measure.js';
import { memberWork } from './member-work.js';
import { readModelEvents, trimModelEvents } from './model-events.js';
import { gatewayKey, putKeyLimits, readKeyLimits } from './model-keys.js';
import { readUsage, recordUsage } from './model-usage.js';
import { openTurn } from './open-turn.js';
import { listClaims, readClaim } from './read-claims.js';
import { listPools, readPoolView } from './read-pools.js';
import { readRoute, readRoutes } from './read-routes.js';
import { readPool } from './read-snapshot.js';
import { recordLimits } from './record-limits.js';
import { recordLooks } from './record-looks.js';
import { settleOrder } from './settle-order.js';
import { readDue, readMetrics, readOpen } from './upkeep.js';

type Db = StoreContext['db'];

const pools = (
  db: Db,
): Pick<ModelStore, 'createPool' | 'changePool' | 'removePool' | 'pool' | 'pools' | 'memberWork' | 'poolOfMember'> => ({
  createPool: (pool, by) => orProblem(() => db.transaction((tx) => createPool(tx, pool, by))),
  changePool: (name, change) => orProblem(() => db.transaction((tx) => changePool(tx, name, change))),
  removePool: (name) => db.transaction((tx) => removePool(tx, name)),
  pool: (name, scope) => readPoolView(db, name, scope),
  pools: (page, scope) => listPools(db, page, scope),
  memberWork: (pool) => db.transaction((tx) => memberWork(tx, pool)),
  poolOfMember: async (sessionId) =>
    (await db.first<{ pool: string }>(sql`SELECT pool FROM pool_members WHERE session_id = ${sessionId}`))?.pool ??
    null,
});

const claims = (
  db: Db,
): Pick<
  ModelStore,
  'createClaim' | 'changeClaim' | 'claim' | 'claims' | 'askSleep' | 'askWakes' | 'endClaim' | 'events' | 'measured'
> => ({
  createClaim: (claim, by, why) => db.transaction((tx) => createClaim(tx, claim, { by, why })),
  changeClaim: (claim, change, by) => db.transaction((tx) => changeClaim(tx, claim, { change, by })),
  claim: (claim, scope) => db.transaction((tx) => readClaim(tx, claim, scope), 'snapshot'),
  claims: (page, scope) => db.transaction((tx) => listClaims(tx, page, scope), 'snapshot'),
  askSleep: (claim, actor) => db.transaction((tx) => askSleep(tx, claim, actor)),
  askWakes: (asks) => (asks.length === 0 ? Promise.resolve([]) : db.transaction((tx) => askWakes(tx, asks))),
  endClaim: (claim, actor) => db.transaction((tx) => endClaim(tx, claim, actor)),
  events: (claimId, page) => readModelEvents(db, claimId, page),
  measured: (claimId) => readMeasured(db, claimId),
});

const gateway = (
  db: Db,
): Pick<ModelStore, 'routes' | 'route' | 'gatewayKey' | 'recordUsage' | 'usage' | 'keyLimits' | 'putKeyLimits'> => ({
  routes: () => readRoutes(db),
  route: (claimId) => readRoute(db, claimId),
  gatewayKey: (hash) => gatewayKey(db, hash),
  recordUsage: (rows, batchId) => db.transaction((tx) => recordUsage(tx, rows, batchId)),
  usage: (query, scope) => readUsage(db, query, scope),
  keyLimits: (keyId) => readKeyLimits(db, keyId),
  putKeyLimits: (keyId, limits) => db.transaction((tx) => putKeyLimits(tx, keyId, limits)),
});

export const createModelStore = (context: StoreContext): ModelStore => {
  const { db } = context;
  return {
    ...pools(db),
    ...claims(db),
    ...gateway(db),
    openTurn: (pool, waitMs) => openTurn(context, pool, waitMs),
    snapshot: async (pool) => (await db.transaction((tx) => readPool(tx, pool), 'snapshot'))?.snapshot ?? null,
    recordLimits: (pool, memberSessionId, results) =>
      db.transaction((tx) => recordLimits(tx, pool, { memberSessionId, results })),
    claimLife: (claimId) => db.transaction((tx) => claimLife(tx, claimId)),
    settleOrder: (instanceId, seq, result) => db.transaction((tx) => settleOrder(tx, instanceId, { seq, result })),
    engineOrder: (node, instanceId) => db.transaction((tx) => engineOrder(tx, node, instanceId), 'snapshot'),
    recordLooks: (node, looks, isDue) => recordLooks(db, node, { looks, isDue }),
    metrics: () => readMetrics(db),
    due: (olderThanMs) => readDue(db, olderThanMs),
    open: () => readOpen(db),
    trimEvents: () => db.transaction((tx) => trimModelEvents(tx)),
  };
};
