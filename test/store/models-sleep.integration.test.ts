import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { GIB } from './ledger.js';
import {
  claim,
  EVERYTHING,
  engineOf,
  gpusOf,
  look,
  openPool,
  orderOf,
  type PoolLedger,
  placeOf,
  putToSleep,
  ready,
  seen,
  serve,
  turn,
} from './models.js';
import { query } from './upkeep.js';

let ledger: PoolLedger;
beforeAll(async () => {
  ledger = await openPool();
});
afterAll(() => ledger.store.close());
beforeEach(() => query(ledger, `UPDATE pool_members SET looked_at = now()`));

const snapshotOf = async (model: string) => {
  const snapshot = await ledger.models.snapshot('warm');
  const found = snapshot?.claims.find((one) => one.model === model);
  return { claim: found, engine: snapshot?.instances.find((one) => one.claimId === found?.id) };
};
const order = (instanceId: string, kind: 'sleep' | 'wake' | 'stop') =>
  turn(ledger, {
    orders: [{ instanceId, model: 'm', kind, because: 'so it is', for: null }],
    planned: { [instanceId]: 10 * GIB },
  });
/** Until the next test: its engine is gone. */
async function end({ claimId, instanceId }: { claimId: string; instanceId: string }) {
  await ledger.models.endClaim(claimId, 'admin');
  const { seq } = await orderOf(ledger, claimId);
  await ledger.models.settleOrder(instanceId, seq, { outcome: 'gone' });
}

test('asleep and woken: the route goes with the order, the first request stands and is asked once, an old result changes nothing', async () => {
  const a = await serve(ledger, 'a');
  await order(a.instanceId, 'sleep');
  expect(await ledger.models.route(a.claimId)).toMatchObject({ serving: 'EngineSleeping', targets: [] });
  const { seq } = await orderOf(ledger, a.claimId);
  await ledger.models.settleOrder(a.instanceId, seq - 1, ready());
  await ledger.models.settleOrder(a.instanceId, seq, {
    outcome: 'asleep',
    residueBytes: GIB,
    hostBytes: 7,
    tookMs: 900,
  });
  expect((await snapshotOf('a')).engine).toMatchObject({
    phase: 'SLEEPING',
    residueBytes: GIB,
    hostBytes: 7,
    order: null,
  });

  const ask = [{ claimId: a.claimId, lastRequestMs: Date.now() }];
  expect(await ledger.models.askWakes([...ask, ...ask, { claimId: 'none', lastRequestMs: 1 }])).toEqual(['warm']);
  expect(await ledger.models.askWakes(ask)).toEqual([]);
  expect((await snapshotOf('a')).claim?.wakeAskedMs).not.toBeNull();

  await order(a.instanceId, 'wake');
  expect((await snapshotOf('a')).engine).toMatchObject({ phase: 'WAKING', residueBytes: null, lastResidueBytes: GIB });
  const wake = await orderOf(ledger, a.claimId);
  expect(wake).toMatchObject({ kind: 'wake', seq: seq + 1 });
  await ledger.models.settleOrder(a.instanceId, wake.seq, ready({ tookMs: 2500 }));
  expect((await snapshotOf('a')).claim?.wakeAskedMs).toBeNull();
  expect(await ledger.models.route(a.claimId)).toMatchObject({ serving: 'Active', wakeSeconds: 2.5 });
  expect(await ledger.models.askWakes(ask)).toEqual([]);
  await end(a);
});

test('a request that comes while it is put to sleep is not lost; a wake that is called off is not asked any more', async () => {
  const a = await serve(ledger, 'early');
  await order(a.instanceId, 'sleep');
  const ask = [{ claimId: a.claimId, lastRequestMs: Date.now() }];
  expect(await ledger.models.askWakes(ask)).toEqual(['warm']);
  const { seq } = await orderOf(ledger, a.claimId);
  await ledger.models.settleOrder(a.instanceId, seq, {
    outcome: 'asleep',
    residueBytes: 20 * GIB,
    hostBytes: null,
    tookMs: 900,
  });
  expect(await snapshotOf('early')).toMatchObject({
    claim: { wakeAskedMs: expect.any(Number) },
    engine: { residueBytes: null },
  });
  await turn(ledger, { calledOff: [{ claimId: a.claimId, model: 'early', because: 'nobody asks' }] });
  expect((await snapshotOf('early')).claim?.wakeAskedMs).toBeNull();
  await end(a);
});

test('one that serves is not slept: back on the route at once, not tried again for a while, and nobody asks for it any more', async () => {
  const a = await serve(ledger, 'busy');
  await order(a.instanceId, 'sleep');
  expect(await ledger.models.askWakes([{ claimId: a.claimId, lastRequestMs: Date.now() }])).toEqual(['warm']);
  const { seq } = await orderOf(ledger, a.claimId);
  await ledger.models.settleOrder(a.instanceId, seq, { outcome: 'busy', running: 2, waiting: 0 });
  expect((await ledger.models.route(a.claimId))?.targets).toHaveLength(1);
  const { engine, claim: asked } = await snapshotOf('busy');
  expect(asked?.wakeAskedMs).toBeNull();
  expect(engine).toMatchObject({ order: null, idleSinceMs: null, running: 2 });
  expect(engine?.noSleepBeforeMs).toBeGreaterThan(Date.now());
  await end(a);
});

test('a sleep that failed leaves it off the route until a look says what it is', async () => {
  const a = await serve(ledger, 'unsure');
  await order(a.instanceId, 'sleep');
  const { seq } = await orderOf(ledger, a.claimId);
  await ledger.models.settleOrder(a.instanceId, seq, { outcome: 'failed', message: 'no answer', whose: 'node' });
  expect(await ledger.models.route(a.claimId)).toMatchObject({ targets: [] });
  await look(ledger, [seen(a.instanceId)]);
  expect((await ledger.models.route(a.claimId))?.targets).toHaveLength(1);
  await end(a);
});

test('a start that failed is charged until it is gone; elsewhere it may be placed at once, never where it failed', async () => {
  const { id } = await claim(ledger, 'broken');
  const [gpu = ''] = await gpusOf(ledger);
  const [member = ''] = ledger.members;
  const place = { places: [placeOf(id, member, [gpu])], planned: { [`new:${id}/0`]: 10 * GIB } };
  await turn(ledger, place);
  const first = await engineOf(ledger, id);
  await ledger.models.recordLimits('warm', member, [{ instanceId: first.id, limitBytes: 10 * GIB, kvUsedBytes: 0 }]);
  const start = await orderOf(ledger, id);
  await ledger.models.settleOrder(first.id, start.seq, { outcome: 'failed', message: 'no weights', whose: 'claim' });
  expect(await ledger.models.route(id)).toMatchObject({ serving: 'FailedForGood' });
  expect((await snapshotOf('broken')).claim).toMatchObject({ failedForGood: 'no weights', avoid: [{ gpu }] });
  expect((await ledger.models.snapshot('warm'))?.gpus[0]?.holes).toEqual(['still leaving: 1 engine']);
  expect(await ledger.models.engineOrder('n1', first.id)).toBeNull();
  const stop = await orderOf(ledger, id);
  expect(stop).toMatchObject({ kind: 'stop', seq: start.seq + 1 });
  await turn(ledger, place);
  expect((await ledger.models.claim(id, EVERYTHING))?.instances).toHaveLength(2);
  await ledger.models.settleOrder(first.id, stop.seq, { outcome: 'failed', message: 'still there', whose: 'node' });
  expect((await ledger.models.claim(id, EVERYTHING))?.instances).toHaveLength(2);
  await ledger.models.settleOrder(first.id, stop.seq, { outcome: 'gone' });
  await ledger.models.settleOrder(first.id, stop.seq, { outcome: 'gone' });
  const second = await engineOf(ledger, id);
  expect(second.id).not.toBe(first.id);
  await end({ claimId: id, instanceId: second.id });
});

test('a claim that ends is off the route at once, is over when its last engine is gone, and its name is free then', async () => {
  const a = await serve(ledger, 'ends');
  const place = placeOf(a.claimId, ledger.members[0] ?? '', await gpusOf(ledger), 1);
  await turn(ledger, { places: [place] });
  expect((await ledger.models.endClaim('ends', 'admin'))?.phase).toBe('STOPPING');
  await ledger.models.endClaim('ends', 'admin');
  expect(await ledger.models.route(a.claimId)).toMatchObject({ targets: [], serving: 'Invalid' });
  await expect(claim(ledger, 'ends')).rejects.toThrow('name-taken');
  const { orders } = await ledger.models.claimLife(a.claimId);
  expect(orders.map(({ kind }) => kind)).toEqual(['stop', 'stop']);
  for (const { instanceId, seq } of orders) await ledger.models.settleOrder(instanceId, seq, { outcome: 'gone' });
  expect(await ledger.models.claimLife(a.claimId)).toMatchObject({ outcome: 'ended', orders: [] });
  expect(await ledger.models.claim('ends', EVERYTHING)).toBeNull();
  const again = await claim(ledger, 'ends');
  await ledger.models.endClaim(again.id, 'admin');
  expect((await ledger.models.claimLife(again.id)).outcome).toBe('ended');
});

test('idle since: something completed between two looks counts, a load that cannot be read is not idle, and a look tells what is due', async () => {
  const a = await serve(ledger, 'idle');
  const idle = async () => (await snapshotOf('idle')).engine?.idleSinceMs ?? null;
  await look(ledger, [seen(a.instanceId)]);
  const since = await idle();
  await look(ledger, [seen(a.instanceId)]);
  expect(await idle()).toBe(since);
  await look(ledger, [seen(a.instanceId, { completed: 3 })]);
  expect(await idle()).toBeGreaterThan(since ?? 0);
  await look(ledger, [seen(a.instanceId, { completed: 3, running: 1 })]);
  expect(await idle()).toBeNull();
  await look(ledger, [seen(a.instanceId, { running: null })]);
  expect(await idle()).toBeNull();
  const memory = { [(await ledger.models.snapshot('warm'))?.gpus[0]?.device ?? '']: 29 * GIB };
  const due = await look(
    ledger,
    [seen(a.instanceId, { memoryBytes: memory, kvUsedBytes: 2 * GIB })],
    {},
    (snapshot) => snapshot.gpus.length === 1,
  );
  expect(due.kick).toEqual(['warm']);
  expect(await ledger.models.measured(a.claimId)).toMatchObject({
    footprintBytes: 27 * GIB,
    kvUsedBytes: 2 * GIB,
    residueBytes: null,
  });
  await end(a);
});

test('a crash takes it off the route until it is ready again; one that is given up is stopped and placed anew', async () => {
  const a = await serve(ledger, 'crashes');
  const crashed = await look(ledger, [
    seen(a.instanceId, { state: 'restarting', limitBytes: null, restarts: 1, message: 'exit 139' }),
  ]);
  expect(crashed.kick).toEqual(['warm']);
  expect(await ledger.models.route(a.claimId)).toMatchObject({ serving: 'EngineStarting', targets: [] });
  await query(ledger, `UPDATE model_instances SET phase_since = now() - interval '1 minute' WHERE id = $1`, [
    a.instanceId,
  ]);
  await look(ledger, [seen(a.instanceId, { restarts: 1 })]);
  expect((await ledger.models.route(a.claimId))?.targets).toHaveLength(1);
  await look(ledger, [seen(a.instanceId, { state: 'exited', restarts: 6 })], { at: new Date(0).toISOString() });
  expect((await ledger.models.route(a.claimId))?.targets).toHaveLength(1);
  await look(ledger, [seen(a.instanceId, { state: 'exited', restarts: 6 })]);
  expect(await ledger.models.route(a.claimId)).toMatchObject({ serving: 'EngineFailed', targets: [] });
  const { seq, kind } = await orderOf(ledger, a.claimId);
  expect(kind).toBe('stop');
  await ledger.models.settleOrder(a.instanceId, seq, { outcome: 'gone' });
  const { items } = await ledger.models.events(a.claimId, { limit: 100 });
  expect(items.filter((event) => event.kind === 'crashed').map(({ message }) => message)).toContain('exit 139');
});

test('a look that was taken before a sleep says nothing of what it left: the room that was given away stays so', async () => {
  const a = await serve(ledger, 'naps');
  const device = (await ledger.models.snapshot('warm'))?.gpus[0]?.device ?? '';
  await putToSleep(ledger, a, 2 * GIB);
  const before = { state: 'sleeping' as const, memoryBytes: { [device]: 29 * GIB }, hostBytes: 1 };
  await look(ledger, [seen(a.instanceId, before)], { at: new Date().toISOString() });
  expect((await snapshotOf('naps')).engine).toMatchObject({
    residueBytes: 2 * GIB,
    lastResidueBytes: 2 * GIB,
    hostBytes: null,
  });
  expect((await ledger.models.measured(a.claimId)).residueBytes).toBeNull();
  await end(a);
});

test('a sleeper whose residue is looked at; an engine that is not there any more has failed', async () => {
  const a = await serve(ledger, 'dreams');
  await putToSleep(ledger, a, null);
  const device = (await ledger.models.snapshot('warm'))?.gpus[0]?.device ?? '';
  const asleep = { state: 'sleeping' as const, memoryBytes: { [device]: 2 * GIB } };
  await look(ledger, [seen(a.instanceId, asleep)]);
  expect((await snapshotOf('dreams')).engine?.residueBytes).toBe(2 * GIB);
  await look(ledger, [seen(a.instanceId, { ...asleep, memoryBytes: { [device]: 25 * GIB } })]);
  expect((await snapshotOf('dreams')).engine?.residueBytes).toBeNull();
  await look(ledger, []);
  expect((await snapshotOf('dreams')).engine).toMatchObject({ phase: 'FAILED', order: 'stop' });
});
