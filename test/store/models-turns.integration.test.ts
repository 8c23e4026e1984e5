import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { GIB } from './ledger.js';
import {
  claim,
  EVERYTHING,
  emptyTurn,
  engineOf,
  gpusOf,
  look,
  openPool,
  orderOf,
  type PoolLedger,
  placeOf,
  putToSleep,
  ready,
  sealedKey,
  serve,
  turn,
} from './models.js';
import { query } from './upkeep.js';

let ledger: PoolLedger;
let gpu: string;
let member: string;
beforeAll(async () => {
  ledger = await openPool({ members: 2 });
  [gpu = ''] = await gpusOf(ledger);
  [member = ''] = ledger.members;
});
afterAll(() => ledger.store.close());
/** No test is so slow that an agent counts as silent. */
beforeEach(() => query(ledger, `UPDATE pool_members SET looked_at = now()`));

const open = async (waitMs = 2000) => {
  const opened = await ledger.models.openTurn('warm', waitMs);
  if (opened === null || opened === 'missing') throw new Error('no turn');
  return opened;
};

test('one turn at a time: the second planner gets nothing, and whoever changes the pool waits for the first', async () => {
  const first = await open();
  expect(await ledger.models.openTurn('warm', 50)).toBeNull();
  const order: string[] = [];
  const claimed = claim(ledger, 'waits').then(() => order.push('claimed'));
  await first.commit(emptyTurn(), sealedKey);
  order.push('committed');
  await first.close();
  await first.close();
  await claimed;
  expect(order).toEqual(['committed', 'claimed']);
  expect(await ledger.models.openTurn('nowhere', 50)).toBe('missing');
});

test('what changes after the snapshot is seen by the next turn', async () => {
  const first = await open();
  expect(first.snapshot.changed).toBe(true);
  await query(ledger, `UPDATE pools SET changes = changes + 1 WHERE name = 'warm'`);
  await first.commit(emptyTurn(), sealedKey);
  await first.close();
  expect((await ledger.models.snapshot('warm'))?.changed).toBe(true);
  await turn(ledger, {});
  expect((await ledger.models.snapshot('warm'))?.changed).toBe(false);
});

test('a commit that is asked for twice places once, and a second plan for the same replica places nothing', async () => {
  const { id } = await claim(ledger, 'once');
  const plan = emptyTurn({ places: [placeOf(id, member, [gpu])], planned: { [`new:${id}/0`]: 5 * GIB } });
  const opened = await open();
  expect(await opened.commit(plan, sealedKey)).toEqual(await opened.commit(plan, sealedKey));
  await opened.close();
  await turn(ledger, plan);
  const engines = (await ledger.models.claim(id, EVERYTHING))?.instances ?? [];
  expect(engines.map(({ phase, gpus, plannedBytes }) => [phase, gpus, plannedBytes])).toEqual([
    ['STARTING', [gpu], 5 * GIB],
  ]);
});

test('a GPU that the member does not hold is refused by the database, and nothing of that turn stays', async () => {
  const { id } = await claim(ledger, 'foreign');
  const foreign = (await gpusOf(ledger)).at(-1) ?? '';
  const hold = { claimId: id, replica: 0, gpus: [gpu], bytes: GIB, untilMs: Date.now() + 60_000, because: 'comes' };
  const good = await claim(ledger, 'neighbour');
  const places = [placeOf(good.id, member, [gpu]), placeOf(id, member, [foreign])];
  await expect(turn(ledger, { places, holds: [hold] })).rejects.toThrow(/does not hold/);
  const engine = await engineOf(ledger, (await ledger.models.claim('once', EVERYTHING))?.id ?? '');
  const device = (await ledger.models.snapshot('warm'))?.gpus.find(({ name }) => name === foreign)?.device;
  const insert = `INSERT INTO instance_gpus (instance_id, node, device_id, name) VALUES ($1, 'n1', $2, 'x')`;
  await expect(query(ledger, insert, [engine.id, device])).rejects.toThrow(/does not hold/);
  expect((await ledger.models.claim(good.id, EVERYTHING))?.instances).toEqual([]);
  expect((await ledger.models.snapshot('warm'))?.holds).toEqual([]);
});

test('holds are those of the last turn; reasons are told when their code changes', async () => {
  const { id } = await claim(ledger, 'held');
  const hold = {
    claimId: id,
    replica: 0,
    gpus: [gpu],
    bytes: 40 * GIB,
    untilMs: 2_000_000_000_000,
    because: 'b sleeps for it',
  };
  const reason = (message: string) => ({
    claimId: id,
    model: 'held',
    reason: { code: 'MakingRoom' as const, message, data: {} },
  });
  await turn(ledger, { holds: [hold], reasons: [reason('needs 40 GiB')] });
  await turn(ledger, { holds: [hold], reasons: [reason('needs 41 GiB')] });
  const { because: _, ...kept } = hold;
  expect((await ledger.models.snapshot('warm'))?.holds).toEqual([kept]);
  expect(await ledger.models.route(id)).toMatchObject({ serving: 'MakingRoom', reason: 'needs 41 GiB' });
  await turn(ledger, {});
  expect((await ledger.models.snapshot('warm'))?.holds).toEqual([]);
  const { items } = await ledger.models.events(id, { limit: 50 });
  expect(items.map(({ kind, to }) => [kind, to])).toEqual([
    ['claimed', null],
    ['hold', gpu],
    ['room', 'MakingRoom'],
    ['hold', null],
  ]);
});

test('lowered first: a neighbour stays on the route until its lower limit is in force, and nothing starts beside it before', async () => {
  const a = await serve(ledger, 'wide');
  const b = await claim(ledger, 'late');
  const planned = { [a.instanceId]: 4 * GIB, [`new:${b.id}/0`]: 6 * GIB };
  const { limits } = await turn(ledger, { places: [placeOf(b.id, member, [gpu])], planned });
  const { id: started } = await engineOf(ledger, b.id);
  expect(limits[0]?.lower).toEqual([{ instanceId: a.instanceId, toBytes: 4 * GIB, gpus: [gpu] }]);
  expect((await ledger.models.route(a.claimId))?.targets).toHaveLength(1);

  const tooMuch = { instanceId: a.instanceId, limitBytes: 4 * GIB, kvUsedBytes: 5 * GIB };
  expect((await ledger.models.recordLimits('warm', member, [tooMuch])).again).toBe(true);
  const made = { instanceId: started, limitBytes: 6 * GIB, kvUsedBytes: 0 };
  await ledger.models.recordLimits('warm', member, [made]);
  expect((await ledger.models.claimLife(b.id)).orders).toEqual([]);
  const lowered = { ...tooMuch, kvUsedBytes: GIB };
  expect(await ledger.models.recordLimits('warm', member, [lowered])).toEqual({ claims: [b.id], again: false });
  expect((await ledger.models.claimLife(b.id)).orders).toMatchObject([{ kind: 'start' }]);
  expect((await ledger.models.route(a.claimId))?.targets).toHaveLength(1);

  // Above the record now: somebody else may have the difference.
  await ledger.models.recordLimits('warm', member, [{ ...lowered, limitBytes: 9 * GIB }]);
  expect((await ledger.models.route(a.claimId))?.targets).toEqual([]);
  await ledger.models.recordLimits('warm', member, [lowered]);
});

test('a move has two engines, charged on both members, until the old one is gone; then the new one is the replica', async () => {
  const a = await serve(ledger, 'moves');
  const [, second = ''] = ledger.members;
  const foreign = (await gpusOf(ledger)).at(-1) ?? '';
  const place = { ...placeOf(a.claimId, second, [foreign]), movesFrom: a.instanceId };
  const { limits } = await turn(ledger, { places: [place, place], planned: { [`new:${a.claimId}/0`]: 7 * GIB } });
  const engines = (await ledger.models.claim(a.claimId, EVERYTHING))?.instances ?? [];
  expect(engines).toHaveLength(2);
  const fresh = engines.find(({ id }) => id !== a.instanceId)?.id ?? '';
  const raise = [{ instanceId: fresh, toBytes: 7 * GIB, gpus: [foreign] }];
  expect(limits).toContainEqual({ node: 'n1', memberSessionId: second, lower: [], raise });
  await ledger.models.recordLimits('warm', second, [{ instanceId: fresh, limitBytes: 7 * GIB, kvUsedBytes: 0 }]);
  const start = await orderOf(ledger, a.claimId);
  await ledger.models.settleOrder(fresh, start.seq, ready({ limitBytes: 7 * GIB, port: 9001 }));
  expect((await ledger.models.route(a.claimId))?.targets).toHaveLength(2);
  await turn(ledger, {
    orders: [{ instanceId: a.instanceId, model: 'm', kind: 'stop', because: 'it moved', for: null }],
  });
  expect((await ledger.models.route(a.claimId))?.targets).toMatchObject([{ port: 9001 }]);
  const stop = await orderOf(ledger, a.claimId);
  await ledger.models.settleOrder(a.instanceId, stop.seq, { outcome: 'gone' });
  const left = (await ledger.models.claim(a.claimId, EVERYTHING))?.instances;
  expect(left).toMatchObject([{ id: fresh, movesFrom: null, member: second }]);
});

test('a sleeper that is asked for and moved is asked for until the new one serves, and may sleep again then', async () => {
  const a = await serve(ledger, 'moves-asleep');
  await putToSleep(ledger, a);
  await ledger.models.askWakes([{ claimId: a.claimId, lastRequestMs: Date.now() }]);
  const asked = async () => (await ledger.models.claim(a.claimId, EVERYTHING))?.wakeAskedAt;
  const [, second = ''] = ledger.members;
  const place = { ...placeOf(a.claimId, second, [(await gpusOf(ledger)).at(-1) ?? '']), movesFrom: a.instanceId };
  await turn(ledger, { places: [place], planned: { [`new:${a.claimId}/0`]: 7 * GIB } });
  const fresh = (await ledger.models.claim(a.claimId, EVERYTHING))?.instances.find(({ id }) => id !== a.instanceId);
  const instanceId = fresh?.id ?? '';
  await ledger.models.recordLimits('warm', second, [{ instanceId, limitBytes: 7 * GIB, kvUsedBytes: 0 }]);
  expect(await asked()).not.toBeNull();
  const start = await orderOf(ledger, a.claimId);
  await ledger.models.settleOrder(instanceId, start.seq, ready({ limitBytes: 7 * GIB, port: 9001 }));
  await turn(ledger, {
    orders: [{ instanceId: a.instanceId, model: 'm', kind: 'stop', because: 'it moved', for: null }],
  });
  expect(await asked()).toBeNull();
  const stop = await orderOf(ledger, a.claimId);
  await ledger.models.settleOrder(a.instanceId, stop.seq, { outcome: 'gone' });
});

test('a node that gave no answer is a hole until its next look, and is asked for no limits', async () => {
  const a = await serve(ledger, 'asked');
  await ledger.models.recordLimits('warm', member, 'unreachable');
  await ledger.models.recordLimits('warm', member, 'unreachable');
  const holes = async () => (await ledger.models.snapshot('warm'))?.gpus.find(({ name }) => name === gpu)?.holes;
  expect(await holes()).toEqual(['its node gave no answer about limits']);
  const { limits } = await turn(ledger, { planned: { [a.instanceId]: GIB } });
  expect(limits.filter((one) => one.memberSessionId === member)).toEqual([]);
  await look(ledger, []);
  expect(await holes()).not.toContain('its node gave no answer about limits');
});

test('an account with more held than there is says so', async () => {
  const { id } = await claim(ledger, 'huge', { perGpu: { maximumFootprint: '200Gi', kvFloor: '10Gi' } });
  await turn(ledger, { places: [placeOf(id, member, [gpu])] });
  expect((await turn(ledger, {})).details).toMatch(/account in error: n1\/\d holds \d+ bytes/);
});

test('a planner that dies between its plan and its commit leaves nothing, and the next one has the pool', async () => {
  const { id } = await claim(ledger, 'orphaned');
  const opened = await open();
  await query(
    ledger,
    `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE l.locktype = 'advisory' AND d.datname = current_database() AND l.pid <> pg_backend_pid()`,
  );
  const plan = emptyTurn({ places: [placeOf(id, member, [gpu])] });
  await expect(opened.commit(plan, sealedKey)).rejects.toThrow();
  await opened.close();
  expect((await ledger.models.claim(id, EVERYTHING))?.instances).toEqual([]);
  await turn(ledger, plan);
  expect((await ledger.models.claim(id, EVERYTHING))?.instances).toHaveLength(1);
});
