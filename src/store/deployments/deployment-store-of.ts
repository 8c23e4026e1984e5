import type { Page, PageQuery } from '../../contract/index.js';
import type { StoreContext } from '../context.js';
import type { Runner } from '../database.js';
import type { DeploymentStore } from '../deployment-store.js';
import { apply, dryRunOf } from './apply.js';
import { end, scale } from './change.js';
import { readDecisions } from './decisions.js';
import { readDeploymentEvents } from './deployment-events.js';
import { metricValue } from './metric-value.js';
import { findDeployment, idOf, listDeployments } from './read-deployments.js';
import { readRoute, readRoutes } from './read-routes.js';
import { queriesOf, readAutoscale } from './read-snapshot.js';
import { readRevisions } from './revisions.js';
import { rolloutChange } from './rollout-change.js';
import { createToken, readTokens, revokeToken } from './tokens.js';
import { recordReplicaMetrics, recordTraffic } from './traffic.js';
import { turn } from './turn.js';
import { readDeploymentMetrics, readDue, readOpen } from './upkeep.js';
import { readWhy } from './why.js';
import { deploymentOf, deploymentsOn, work } from './work.js';

type Db = StoreContext['db'];
type Read<Item> = (tx: Runner, deploymentId: string, page: PageQuery) => Promise<Page<Item>>;

/** Of the one that the name means; nothing where there is none. */
const pageOf =
  <Item>(db: Db, read: Read<Item>) =>
  async (name: string, page: PageQuery): Promise<Page<Item>> => {
    const id = await idOf(db, name);
    return id === null ? { items: [], nextCursor: null } : read(db, id, page);
  };

type Owner = Pick<DeploymentStore, 'apply' | 'scale' | 'rolloutChange' | 'end' | 'createToken' | 'revokeToken'>;
const owner = (db: Db): Owner => ({
  apply: (name, wish, by) =>
    by.dryRun
      ? dryRunOf((work) => db.transaction(work), name, { wish, by })
      : db.transaction((tx) => apply(tx, name, { wish, by })),
  scale: (name, replicas, actor) => db.transaction((tx) => scale(tx, name, { replicas, actor })),
  rolloutChange: (name, change, actor) => db.transaction((tx) => rolloutChange(tx, name, { change, actor })),
  end: (name, actor) => db.transaction((tx) => end(tx, name, actor)),
  createToken: (name, token, actor) => db.transaction((tx) => createToken(tx, name, { token, actor })),
  revokeToken: (name, tokenId, actor) => db.transaction((tx) => revokeToken(tx, name, { tokenId, actor })),
});

type Reads = Pick<
  DeploymentStore,
  'deployment' | 'deployments' | 'why' | 'revisions' | 'events' | 'decisions' | 'tokens'
>;
const reads = (db: Db): Reads => ({
  deployment: (name, scope) => db.transaction((tx) => findDeployment(tx, name, scope), 'snapshot'),
  deployments: (page, scope) => db.transaction((tx) => listDeployments(tx, page, scope), 'snapshot'),
  why: (name, scope) => db.transaction((tx) => readWhy(tx, name, scope), 'snapshot'),
  revisions: pageOf(db, readRevisions),
  events: pageOf(db, readDeploymentEvents),
  decisions: pageOf(db, readDecisions),
  tokens: pageOf(db, readTokens),
});

export const createDeploymentStore = ({ db }: StoreContext): DeploymentStore => ({
  ...owner(db),
  ...reads(db),
  turn: async (deploymentId, decide, sealApiKey) => ({
    outcome: await db.transaction((tx) => turn(tx, deploymentId, { decide, sealApiKey })),
  }),
  queries: async (deploymentId) => queriesOf(await readAutoscale(db, deploymentId)),
  work: (deploymentId) => db.transaction((tx) => work(tx, deploymentId)),
  deploymentOf: (sessionId) => deploymentOf(db, sessionId),
  deploymentsOn: (node) => deploymentsOn(db, node),
  recordMetrics: async (node, metrics) => {
    await recordReplicaMetrics(db, node, metrics);
  },
  routes: () => readRoutes(db),
  route: (deploymentId) => readRoute(db, deploymentId),
  recordTraffic: (gateway, traffic) => db.transaction((tx) => recordTraffic(tx, gateway, traffic)),
  metrics: () => readDeploymentMetrics(db),
  due: (olderThanMs) => readDue(db, olderThanMs),
  open: () => readOpen(db),
  metricValue: (deploymentId, metric) => metricValue(db, deploymentId, metric),
});
