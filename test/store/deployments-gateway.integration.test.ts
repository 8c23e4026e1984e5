import { Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { measureDeployments } from '../../src/api/deployment-metrics.js';
import type { ScaleMetric } from '../../src/contract/index.js';
import type { DeploymentTraffic } from '../../src/store/deployment-store.js';
import { eventually } from '../support/process.js';
import { eventsOf, type Serving, servingIn, tellHealth, turn, viewOf, wish } from './deployments.js';
import { hashOf, type Ledger, nextId, openLedger, unsound } from './ledger.js';
import { query } from './upkeep.js';

let ledger: Ledger;
let chat: Serving;
let told: string[];
let listening: { close(): Promise<void> };
beforeAll(async () => {
  ledger = await openLedger();
  chat = await servingIn(ledger, 'chat');
  listening = await ledger.store.events.listen({
    session: () => undefined,
    deployment: (id) => told.push(id),
    reconnect: () => undefined,
  });
});
beforeEach(() => {
  told = [];
});
afterAll(async () => {
  await listening.close();
  expect(await unsound(ledger.store)).toEqual({});
  await ledger.store.close();
});

const routeOf = (id: string) => ledger.store.deployments.route(id);
const replicaAt = (at: number) => {
  const replica = chat.replicas[at];
  if (replica === undefined) throw new Error('none runs');
  return replica;
};
const one = () => replicaAt(0);
const other = () => replicaAt(1);

describe('listeners of deployments hear with the commit', () => {
  test.each([
    [
      'that a check missed, and the target is the last choice',
      () => query(ledger, `UPDATE sessions SET health = 'degraded' WHERE id = $1`, [one().sessionId]),
    ],
    ['that it succeeded again', () => tellHealth(ledger, one(), true)],
    [
      'that a port moved',
      () => query(ledger, `UPDATE kernel_ports SET host_port = 30000 WHERE kernel_id = $1`, [one().kernelId]),
    ],
    ['that a node is not heard', () => query(ledger, `UPDATE nodes SET lost_at = now() WHERE name = 'n1'`)],
    ['that it is back', () => query(ledger, `UPDATE nodes SET lost_at = NULL WHERE name = 'n1'`)],
    ['another count', () => chat.deployments.scale('chat', 3, 'admin')],
  ])('%s', async (_, change) => {
    await change();
    await eventually('it is told', () => told.includes(chat.id));
  });

  test('and read the degraded one as such', async () => {
    await query(ledger, `UPDATE sessions SET health = 'degraded' WHERE id = $1`, [one().sessionId]);
    const targets = (await routeOf(chat.id))?.targets ?? [];
    expect(targets.map(({ sessionId, isDegraded, port }) => [sessionId, isDegraded, port])).toContainEqual([
      one().sessionId,
      true,
      30_000,
    ]);
    await tellHealth(ledger, one(), true);
  });
});

describe('tokens of a deployment', () => {
  const token = (name: string, expiresAt: string | null = null) => ({
    id: nextId('dpt'),
    name,
    hash: hashOf(name),
    expiresAt,
  });

  test('are kept as hashes, told at once, and end when they are taken back or expire', async () => {
    const { deployments } = chat;
    const kept = token('ci');
    expect(await deployments.createToken('chat', kept, 'admin')).toMatchObject({ name: 'ci', createdBy: 'admin' });
    expect(await deployments.createToken('chat', kept, 'admin')).toMatchObject({ id: kept.id });
    expect(await deployments.createToken('chat', { ...kept, hash: hashOf('again') }, 'admin')).toMatchObject({
      id: kept.id,
    });
    expect((await routeOf(chat.id))?.tokens.map(({ hash }) => hash)).toEqual([hashOf('again')]);
    await deployments.createToken('chat', kept, 'admin');
    expect(await deployments.createToken('chat', token('ci'), 'admin')).toMatchObject({
      problem: 'refused',
      field: 'name',
    });
    await deployments.createToken('chat', token('short', new Date(Date.now() + 60_000).toISOString()), 'admin');
    expect((await routeOf(chat.id))?.tokens.map(({ hash }) => hash)).toContainEqual(hashOf('ci'));
    expect((await deployments.tokens('chat', { limit: 10 })).items.map(({ name }) => name)).toEqual(['ci', 'short']);
    await query(ledger, `UPDATE deployment_tokens SET expires_at = now() WHERE name = 'short'`);
    expect(await deployments.revokeToken('chat', kept.id, 'admin')).toBe(true);
    expect(await deployments.revokeToken('chat', kept.id, 'admin')).toBe(true);
    expect(await deployments.revokeToken('chat', 'dpt_none', 'admin')).toBe(false);
    expect((await routeOf(chat.id))?.tokens).toEqual([]);
    expect((await deployments.tokens('chat', { limit: 10 })).items).toEqual([]);
    expect((await eventsOf(chat)).filter((event) => event.startsWith('token'))).toEqual([
      'token ×1: token ci was made',
      'token ×1: token short was made',
      'token ×1: token ci was taken back',
    ]);
    await eventually('they are told', () => told.includes(chat.id));
  });
});

const traffic = (change: Partial<DeploymentTraffic> = {}): DeploymentTraffic => ({
  deploymentId: chat.id,
  requests: 0,
  failures: 0,
  queued: 0,
  seconds: 1,
  lastRequestMs: null,
  inFlight: [],
  refused: [],
  ...change,
});
const value = (metric: ScaleMetric) => chat.deployments.metricValue(chat.id, metric);

describe('what gateways tell of traffic', () => {
  test('is missing while no gateway is heard of', async () => {
    expect(await value({ kind: 'requests-in-flight' })).toBeNull();
    expect(await value({ kind: 'queue-length' })).toBeNull();
  });

  test('is shared by those that serve, replaced by what is told next, and zero once it is old', async () => {
    const { deployments } = chat;
    const inFlight = [
      { sessionId: one().sessionId, count: 4 },
      { sessionId: other().sessionId, count: 1 },
    ];
    await deployments.recordTraffic('g1', [traffic({ requests: 20, inFlight, lastRequestMs: Date.now() })]);
    await deployments.recordTraffic('g2', [
      traffic({ queued: 3, inFlight: [{ sessionId: one().sessionId, count: 1 }] }),
    ]);
    expect(await value({ kind: 'requests-in-flight' })).toBe(3);
    expect(await value({ kind: 'requests-per-second' })).toBeCloseTo(10, 0);
    expect(await value({ kind: 'queue-length' })).toBe(3);
    expect((await viewOf(chat)).replicas.map((replica) => replica.inFlight)).toEqual([5, 1]);
    const seen = await turn(chat);
    expect(seen.replicas.map((replica) => replica.inFlight)).toEqual([5, 1]);
    expect(seen.lastRequestMs).toBeGreaterThan(0);
    await deployments.recordTraffic('g1', [traffic({ inFlight: [{ sessionId: one().sessionId, count: 1 }] })]);
    expect(await value({ kind: 'requests-in-flight' })).toBe(1);
    await query(ledger, `UPDATE replica_traffic SET told_at = now() - interval '16 s'`);
    expect(await value({ kind: 'requests-in-flight' })).toBe(0);
    await query(ledger, `UPDATE traffic_gateways SET told_at = now() - interval '16 s'`);
    expect(await value({ kind: 'requests-in-flight' })).toBeNull();
    const registry = new Registry();
    measureDeployments(registry, deployments);
    expect(await registry.metrics()).toContain('berth_deployment_replicas{deployment="chat",count="serving"} 2');
    expect(await deployments.metrics()).toContainEqual({
      name: 'deployment_requests_total',
      labels: { deployment: 'chat' },
      value: 20,
    });
  });

  test('says whose last connection was refused, until it is told otherwise or is old', async () => {
    const { deployments } = chat;
    const { sessionId } = one();
    const refused = async () => (await turn(chat)).replicas.map(({ isRefused }) => isRefused);
    const told = [traffic({ refused: [sessionId], inFlight: [{ sessionId, count: 2 }] })];
    await deployments.recordTraffic('g1', told);
    expect(await refused()).toEqual([true, false]);
    expect((await turn(chat)).replicas[0]?.inFlight).toBe(2);
    await deployments.recordTraffic('g2', [traffic()]);
    expect(await refused()).toEqual([true, false]);
    await deployments.recordTraffic('g1', [traffic({ inFlight: [{ sessionId, count: 1 }] })]);
    expect(await refused()).toEqual([false, false]);
    await deployments.recordTraffic('g1', told);
    await query(ledger, `UPDATE replica_traffic SET refused_at = now() - interval '16 s' WHERE refused_at IS NOT NULL`);
    expect(await refused()).toEqual([false, false]);
  });

  test('says that a draining replica is empty only once every gateway has told so since', async () => {
    const { deployments } = chat;
    const { sessionId } = one();
    const busy = [traffic({ inFlight: [{ sessionId, count: 1 }] })];
    await deployments.recordTraffic('g1', busy);
    await deployments.recordTraffic('g2', [traffic()]);
    await turn(chat, () => ({ drain: [{ id: sessionId, why: 'surplus' }] }));
    const isDrained = async () => (await turn(chat)).replicas.find(({ id }) => id === sessionId)?.isDrained;
    expect(await isDrained()).toBe(false);
    await query(ledger, `UPDATE deployment_replicas SET draining_at = now() - interval '5 s' WHERE session_id = $1`, [
      sessionId,
    ]);
    await query(ledger, `UPDATE traffic_gateways SET told_at = now() - interval '6 s'`);
    expect(await deployments.recordTraffic('g1', busy)).toEqual([]);
    expect(await deployments.recordTraffic('g2', [])).toEqual([]);
    expect(await isDrained()).toBe(false);
    expect(await deployments.recordTraffic('g1', [traffic()])).toEqual([chat.id]);
    expect(await isDrained()).toBe(true);
    await turn(chat, () => ({ stop: [sessionId] }));
    expect(await deployments.recordTraffic('g1', [])).toEqual([]);
  });

  test('wakes a deployment at zero once, where rules may want a replica', async () => {
    const autoscale = { minimum: 0, maximum: 2 };
    const asleep = await servingIn(ledger, 'asleep', wish({ replicas: 0, autoscale }));
    const off = await servingIn(ledger, 'off', wish({ replicas: 0 }));
    const asks = [asleep, off].map(({ id }) => traffic({ deploymentId: id, queued: 1 }));
    expect(await chat.deployments.recordTraffic('g1', asks)).toEqual([asleep.id]);
    expect(await chat.deployments.recordTraffic('g2', asks)).toEqual([]);
    expect((await turn(asleep)).wakeAskedMs).toBeGreaterThan(0);
    expect((await routeOf(asleep.id))?.sinceMs).toBe((await turn(asleep)).wakeAskedMs);
    await turn(asleep, () => ({ wanted: 1, clearWake: true }));
    expect(await turn(asleep)).toMatchObject({ wakeAskedMs: null, wanted: 1 });
    expect(await eventsOf(asleep)).toContain('woken ×1: asked for by a request');
  });
});

test('metrics of replicas are those of the attempt that serves on the node that tells, and old after 30 s', async () => {
  const { deployments } = chat;
  const series = { kind: 'replica', series: 'waiting', aggregate: 'max' } as const;
  const replicas = [{ kernelId: other().kernelId, attempt: 1, values: { waiting: 7 } }];
  await deployments.recordMetrics('n2', { replicas });
  expect(await value(series)).toBeNull();
  await deployments.recordMetrics('n1', { replicas });
  expect(await value(series)).toBe(7);
  expect(await value({ ...series, series: 'unknown' })).toBeNull();
  await query(ledger, `UPDATE replica_metrics SET told_at = now() - interval '31 s'`);
  expect(await value(series)).toBeNull();
  expect(await value({ kind: 'prometheus', query: 'up' })).toBeNull();
  expect(await value({ kind: 'gpu-utilization' })).toBeNull();
});
