import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/process.js';
import { GIB, hashOf, nextId } from './ledger.js';
import { claim, EVERYTHING, openPool, orderOf, type PoolLedger, putToSleep, serve, turn } from './models.js';
import { query } from './upkeep.js';

let ledger: PoolLedger;
const models: string[] = [];
const keys: (string | null)[] = [];
let listening: { close(): Promise<void> };
beforeAll(async () => {
  ledger = await openPool();
  listening = await ledger.store.events.listen({
    session: () => undefined,
    model: (id) => models.push(id),
    key: (id) => keys.push(id),
    reconnect: () => undefined,
  });
});
afterAll(async () => {
  await listening.close();
  await ledger.store.close();
});
const told = (id: string) => eventually('the gateway is told', () => models.includes(id));

test('whoever listens is told of each change of a route, with its commit; a change that changes no route tells nothing', async () => {
  const { claimId, instanceId } = await serve(ledger, 'a');
  await told(claimId);
  models.length = 0;
  await turn(ledger, { orders: [{ instanceId, model: 'a', kind: 'sleep', because: 'idle', for: null }] });
  await told(claimId);
  expect((await ledger.models.routes()).map(({ modelName, serving }) => [modelName, serving])).toEqual([
    ['a', 'EngineSleeping'],
  ]);
  const { seq } = await orderOf(ledger, claimId);
  models.length = 0;
  await ledger.models.settleOrder(instanceId, seq, { outcome: 'busy', running: 1, waiting: 0 });
  await told(claimId);
  models.length = 0;
  await turn(ledger, { short: [instanceId] });
  await ledger.models.recordLimits('warm', ledger.members[0] ?? '', [
    { instanceId, limitBytes: 10 * GIB, kvUsedBytes: 5 },
  ]);
  const other = await claim(ledger, 'other');
  await told(other.id);
  expect(models).not.toContain(claimId);
  expect(await ledger.models.route('none')).toBeNull();
  const route = await ledger.models.route(claimId);
  expect(route).toMatchObject({ project: 'default/default', projects: ['default/default'], hold: null, reason: null });
});

test('wakes that are asked for are counted until they are met; what nobody took is due', async () => {
  const one = await serve(ledger, 'sleeper');
  await putToSleep(ledger, one);
  await ledger.models.askWakes([{ claimId: one.claimId, lastRequestMs: Date.now() }]);
  await query(ledger, `UPDATE pools SET changed_at = now() - interval '1 minute'`);
  expect(await ledger.models.due(30_000)).toEqual({ pools: ['warm'], claims: [] });
  await turn(ledger, {
    orders: [{ instanceId: one.instanceId, model: 'm', kind: 'wake', because: 'asked', for: null }],
  });
  await query(
    ledger,
    `UPDATE model_instances SET order_due_at = order_due_at - interval '1 minute' WHERE order_kind = 'wake'`,
  );
  expect(await ledger.models.due(30_000)).toEqual({ pools: [], claims: [one.claimId] });
  const { seq } = await orderOf(ledger, one.claimId);
  expect(await ledger.models.due(30_000)).toEqual({ pools: [], claims: [] });
  const oldest = (await ledger.models.metrics()).find(({ name }) => name === 'model_oldest_wake_ask_seconds');
  expect(oldest).toMatchObject({ labels: { pool: 'warm' } });
  await ledger.models.settleOrder(one.instanceId, seq, { outcome: 'failed', message: 'did not wake', whose: 'node' });
  const metrics = await ledger.models.metrics();
  expect(metrics).toContainEqual({ name: 'model_wake_failures_total', labels: { pool: 'warm' }, value: 1 });
  expect((await ledger.models.claimLife(one.claimId)).orders).toMatchObject([{ kind: 'stop', seq: seq + 1 }]);
});

test('a key is known by its hash with what it may use; limits and a revocation are told, and projects that change', async () => {
  const { store, admin } = ledger;
  const key = {
    id: nextId('key'),
    name: 'client',
    user: 'admin',
    scope: 'write' as const,
    prefix: 'brt_x',
    expiresInDays: null,
  };
  await store.tenancy.createKey({ ...key, hash: hashOf('client') });
  const none = { models: null, requestsPerMinute: null, tokensPerMinute: null };
  expect(await ledger.models.gatewayKey(hashOf('client'))).toEqual({
    keyId: key.id,
    project: 'default/default',
    projects: ['default/default'],
    isOperator: true,
    scope: 'write',
    limits: none,
  });
  expect(await ledger.models.keyLimits(key.id)).toEqual({ keyId: key.id, ...none });
  const limits = { models: ['a'], requestsPerMinute: 5, tokensPerMinute: null };
  expect(await ledger.models.putKeyLimits(key.id, limits, 'admin')).toEqual({ keyId: key.id, ...limits });
  expect(await ledger.models.putKeyLimits('key_none', limits, 'admin')).toBeNull();
  expect((await ledger.models.gatewayKey(hashOf('client')))?.limits).toEqual(limits);
  await eventually('the limits are told', () => keys.includes(key.id));
  keys.length = 0;
  await store.tenancy.putMember({ domain: 'default', project: 'default', user: 'admin', role: 'manager' });
  await eventually('a membership is told', () => keys.includes(null));
  await store.tenancy.revokeKey(key.id, admin);
  await eventually('the revocation is told', () => keys.includes(key.id));
  expect(await ledger.models.gatewayKey(hashOf('client'))).toBeNull();
});

test('usage adds up by key, project, model and hour; a batch that comes twice counts once', async () => {
  const [{ id: keyId } = { id: '' }] = (await ledger.store.tenancy.listKeys({ limit: 1 }, ledger.admin)).items;
  const row = { keyId, project: 'default/default', requests: 2, failed: 1, promptTokens: 30, completionTokens: 40 };
  const rows = [
    { ...row, model: 'a' },
    { ...row, model: 'b' },
    { ...row, model: 'a' },
  ];
  await ledger.models.recordUsage(rows, 'batch-1');
  await ledger.models.recordUsage(rows, 'batch-1');
  await ledger.models.recordUsage([{ ...row, model: 'a' }], 'batch-2');
  const page = await ledger.models.usage({ limit: 1 }, EVERYTHING);
  expect(page.items).toMatchObject([{ model: 'a', requests: 6, failed: 3, promptTokens: 90, completionTokens: 120 }]);
  const next = await ledger.models.usage(
    { limit: 1, cursor: page.nextCursor ?? '' },
    { projects: ['default/default'] },
  );
  expect(next).toMatchObject({ items: [{ model: 'b', requests: 2 }], nextCursor: null });
  expect((await ledger.models.usage({ limit: 9, model: 'b' }, EVERYTHING)).items).toHaveLength(1);
  expect((await ledger.models.usage({ limit: 9 }, { projects: [] })).items).toEqual([]);
});
