import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { GIB } from './ledger.js';
import { EVERYTHING, look, openPool, type PoolLedger, seen, serve, turn } from './models.js';
import { query } from './upkeep.js';

let ledger: PoolLedger;
const told: string[] = [];
let listening: { close(): Promise<void> };
beforeAll(async () => {
  ledger = await openPool();
  listening = await ledger.store.events.listen({
    session: () => undefined,
    model: (claimId) => void told.push(claimId),
    reconnect: () => undefined,
  });
});
afterAll(async () => {
  await listening.close();
  await ledger.store.close();
});
beforeEach(() => query(ledger, `UPDATE pool_members SET looked_at = now()`));

const ageLook = (seconds: number) =>
  query(ledger, `UPDATE pool_members SET looked_at = now() - $1 * interval '1 second'`, [seconds]);
const holes = async () => (await ledger.models.snapshot('warm'))?.gpus[0]?.holes;

test('of a node that is LOST no engine is routed, its listeners are told, and it is back once the node is heard', async () => {
  const { claimId } = await serve(ledger, 'a');
  const view = async () => {
    const claim = await ledger.models.claim(claimId, EVERYTHING);
    const { serving, targets, reason } = (await ledger.models.route(claimId)) ?? {};
    return { serving, targets: targets?.length, reason, routable: claim?.instances[0]?.routable };
  };
  expect(await view()).toMatchObject({ serving: 'Active', targets: 1, routable: true });
  told.length = 0;
  await query(ledger, `UPDATE nodes SET lost_at = now(), lost_reason = 'no sign' WHERE name = 'n1'`);
  const lost = { serving: 'EngineFailed', targets: 0, reason: 'its node n1 is not heard', routable: false };
  expect(await view()).toEqual(lost);
  expect((await ledger.models.claim(claimId, EVERYTHING))?.instances[0]?.message).toMatch(/not heard/);
  await expect.poll(() => told).toEqual([claimId]);
  await query(ledger, `UPDATE nodes SET lost_at = NULL WHERE name = 'n1'`);
  expect(await view()).toMatchObject({ serving: 'Active', targets: 1, routable: true });
  await expect.poll(() => told).toEqual([claimId, claimId]);
});

test('an agent is silent after three of its own looks, and after 30 s at the earliest', async () => {
  await ageLook(29);
  expect(await holes()).toEqual([]);
  await ageLook(31);
  expect(await holes()).toEqual(['agent silent']);
  await look(ledger, [seen((await ledger.models.snapshot('warm'))?.instances[0]?.id ?? '')], { everySeconds: 60 });
  await ageLook(170);
  expect(await holes()).toEqual([]);
  await ageLook(190);
  expect(await holes()).toEqual(['agent silent']);
});

test('of a history, divisions go after 14 days and what happens by itself after 90; what was asked of it stays', async () => {
  const { claimId, instanceId } = await serve(ledger, 'old');
  await turn(ledger, { planned: { [instanceId]: 9 * GIB } });
  const kinds = async () => {
    const { items } = await ledger.models.events(claimId, { limit: 100 });
    return [...new Set(items.map(({ kind }) => kind))].toSorted();
  };
  const age = (days: number) =>
    query(ledger, `UPDATE model_events SET at = now() - $2 * interval '1 day' WHERE claim_id = $1`, [claimId, days]);
  const all = await kinds();
  expect(all).toEqual(expect.arrayContaining(['claimed', 'limits', 'phase', 'placed']));
  await age(13);
  expect(await ledger.models.trimEvents()).toBe(0);
  await age(15);
  expect(await ledger.models.trimEvents()).toBeGreaterThan(0);
  expect(await kinds()).toEqual(all.filter((kind) => kind !== 'limits'));
  await age(91);
  await ledger.models.trimEvents();
  expect(await kinds()).toEqual(['claimed']);
});
