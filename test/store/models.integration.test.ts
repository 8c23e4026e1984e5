import { expect, test } from 'vitest';
import { GIB } from './ledger.js';
import { claim, EVERYTHING, engineOf, gpusOf, look, openPool, orderOf, placeOf, ready, seen, turn } from './models.js';

test('an engine from its place to the route: charged at once, due once its limit is in force, routed when it is ready under it', async () => {
  const ledger = await openPool();
  const { models, members, store } = ledger;
  const [member = ''] = members;
  const { id } = await claim(ledger, 'a');
  const [gpu = ''] = await gpusOf(ledger);
  const placed = await turn(ledger, { places: [placeOf(id, member, [gpu])], planned: { [`new:${id}/0`]: 10 * GIB } });
  const { id: instanceId } = await engineOf(ledger, id);
  expect(placed.limits).toEqual([
    { node: 'n1', memberSessionId: member, lower: [], raise: [{ instanceId, toBytes: 10 * GIB, gpus: [gpu] }] },
  ]);
  expect(placed.claims).toEqual([]);
  expect((await models.claimLife(id)).orders).toEqual([]);
  expect(await models.route(id)).toMatchObject({ serving: 'EngineStarting', targets: [] });

  const results = [{ instanceId, limitBytes: 10 * GIB, kvUsedBytes: 0 }];
  expect(await models.recordLimits('warm', member, results)).toEqual({ claims: [id], again: false });
  expect(await models.recordLimits('warm', member, results)).toEqual({ claims: [id], again: false });
  const order = await orderOf(ledger, id);
  expect(order).toMatchObject({ kind: 'start', seq: 1, node: 'n1', plannedBytes: 10 * GIB });
  expect(await models.recordLimits('warm', member, results)).toEqual({ claims: [], again: false });
  expect((await models.engineOrder('n1', instanceId))?.order).toMatchObject({
    modelName: 'a',
    limitBytes: 10 * GIB,
    image: 'engines:1',
  });
  expect(await models.engineOrder('n2', instanceId)).toBeNull();

  expect(await models.settleOrder(instanceId, order.seq, ready())).toEqual({ pool: 'warm' });
  expect(
    await models.settleOrder(instanceId, order.seq, { outcome: 'failed', message: 'late', whose: 'node' }),
  ).toEqual({ pool: 'warm' });
  const route = await models.route(id);
  expect(route).toMatchObject({ serving: 'Active', startSeconds: 4, targets: [{ host: '127.0.0.1', port: 9000 }] });
  expect(route?.targets[0]?.sealedApiKey.toString()).toBe(`sealed for ${instanceId}`);

  await look(ledger, [seen(instanceId, { limitBytes: null })]);
  expect((await models.route(id))?.targets).toEqual([]);
  await look(ledger, [seen(instanceId)]);
  expect((await models.route(id))?.targets).toHaveLength(1);
  expect((await models.claim('a', EVERYTHING))?.phase).toBe('ACTIVE');
  await store.close();
});
