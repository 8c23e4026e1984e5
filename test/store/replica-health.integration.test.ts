import { afterAll, beforeAll, expect, test } from 'vitest';
import { groupPolicySchema, type NodeReport } from '../../src/contract/index.js';
import {
  converging,
  type DeploymentLedger,
  openDeployment,
  type Started,
  startReplicas,
  turn,
  wish,
} from './deployments.js';
import { startSession, stopOf } from './ledger.js';
import { query } from './upkeep.js';

let chat: DeploymentLedger;
let replica: Started;
beforeAll(async () => {
  const { template } = wish();
  chat = await openDeployment(wish({ replicas: 1, template: { ...template, metricsPath: '/metrics' } }));
  await turn(chat, converging());
  const [started] = await startReplicas(chat);
  if (started === undefined) throw new Error('no replica');
  replica = started;
});
afterAll(() => chat.store.close());

type Level = NonNullable<Extract<NodeReport, { kind: 'health' }>['level']>;
async function tell(level: Level) {
  const health = { kind: 'health' as const, attempt: 1, healthy: level !== 'unhealthy', level, message: level };
  const [result] = await chat.store.nodes.report('n1', [{ ...health, kernelId: replica.kernelId }]);
  return result?.signal?.kind ?? null;
}
const healthOf = async () => (await chat.store.sessions.get(replica.sessionId, chat.admin))?.health;
const targets = async () => (await chat.deployments.route(chat.id))?.targets.map(({ isDegraded }) => isDegraded);

test('a replica that misses is degraded, still routed, and healthy to its workflow', async () => {
  expect([await tell('degraded'), await healthOf()]).toEqual([null, 'starting']);
  expect([await tell('healthy'), await healthOf(), await targets()]).toEqual(['healthy', 'healthy', [false]]);
  expect([await tell('degraded'), await healthOf(), await targets()]).toEqual([null, 'degraded', [true]]);
  const due = await chat.store.planning.dueSignals({ olderThanMs: 0, limit: 9 });
  expect(due).toMatchObject([{ sessionId: replica.sessionId, kind: 'healthy' }]);
  const deadline = { ...stopOf(replica.sessionId), cause: 'health-check' as const, attempt: 1 };
  expect(await chat.store.sessions.markEnding(deadline)).toMatchObject({ state: 'RUNNING', changed: false });
  expect((await chat.store.planning.why(replica.sessionId))?.message).toContain('its health check missed');
  expect([await tell('healthy'), await healthOf()]).toEqual([null, 'healthy']);
});

test('the idle policy looks at no replica of a deployment, unless it is preemptible', async () => {
  const other = await startSession(chat, { kind: 'inference', preemptible: false });
  const policy = groupPolicySchema.parse({ idle: { inference: { lifetime: { afterSeconds: 1 } } } });
  await query(chat, 'UPDATE resource_groups SET policy = $1', [JSON.stringify(policy)]);
  const looked = async () => {
    const { candidates } = await chat.store.usage.idleCandidates(null, 10);
    return candidates.map(({ sessionId }) => sessionId).sort();
  };
  expect(await looked()).toEqual([other.sessionId]);
  await query(chat, `UPDATE sessions SET spec = spec || '{"preemptible":true}' WHERE id = $1`, [replica.sessionId]);
  expect(await looked()).toEqual([other.sessionId, replica.sessionId].sort());
});

test('its launch order says where its figures are; what its agent reads of them is a value for its rules', async () => {
  const { kernelId, sessionId } = replica;
  await query(chat, `UPDATE sessions SET state = 'CREATING' WHERE id = $1`, [sessionId]);
  const launch = await chat.store.nodes.launchOrder('n1', kernelId, 1);
  expect(launch?.replica).toMatchObject({ port: 8000, metricsPath: '/metrics' });
  await query(chat, `UPDATE sessions SET state = 'RUNNING' WHERE id = $1`, [sessionId]);
  await chat.deployments.recordMetrics('n1', { replicas: [{ kernelId, attempt: 1, values: { waiting: 7 } }] });
  const metric = { kind: 'replica', series: 'waiting', aggregate: 'average' } as const;
  expect(await chat.deployments.metricValue(chat.id, metric)).toBe(7);
});

test('an unhealthy one is off the route at once, and told until its workflow has taken it', async () => {
  expect([await tell('unhealthy'), await healthOf(), await targets()]).toEqual(['unhealthy', 'unhealthy', []]);
  const due = await chat.store.planning.dueSignals({ olderThanMs: 0, limit: 9 });
  expect(due).toContainEqual(expect.objectContaining({ sessionId: replica.sessionId, kind: 'unhealthy' }));
});
