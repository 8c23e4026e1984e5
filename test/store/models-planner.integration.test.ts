import { afterAll, beforeAll, expect, test } from 'vitest';
import type { MemberLook } from '../../src/contract/index.js';
import { isTurnDue } from '../../src/models/is-turn-due.js';
import { planPool } from '../../src/models/plan-pool.js';
import type { DueOrder } from '../../src/store/model-store.js';
import { GIB } from './ledger.js';
import { claim, EVERYTHING, look, openPool, type PoolLedger, ready, sealedKey, seen } from './models.js';
import { query } from './upkeep.js';

const gib = (amount: number) => Math.round(amount * GIB);
const USABLE = gib(95.1);
const RESIDUE = gib(1.33);

let ledger: PoolLedger;
/** How far this test's planner is ahead of Postgres. */
let aheadMs = 0;
/** What an agent would read in the segments, and what its engines do. */
const limits = new Map<string, number>();
const loads = new Map<string, number>();

beforeAll(async () => {
  ledger = await openPool();
  // The node of these tests is small: the weights of sleepers would find no room in its memory.
  await query(ledger, `UPDATE kernels SET memory_bytes = 200 * 2 ^ 30`);
  const device = (await ledger.models.snapshot('warm'))?.gpus[0]?.device ?? '';
  await look(ledger, [], { devices: [{ id: device, usableBytes: USABLE }] });
});
afterAll(() => ledger.store.close());

async function planned() {
  const opened = await ledger.models.openTurn('warm', 2000);
  if (opened === null || opened === 'missing') throw new Error('no turn');
  try {
    return await opened.commit(planPool(opened.snapshot, opened.nowMs + aheadMs), sealedKey);
  } finally {
    await opened.close();
  }
}

const resultOf = ({ kind, instanceId }: DueOrder) => {
  if (kind === 'stop') return { outcome: 'gone' as const };
  if (kind === 'sleep') return { outcome: 'asleep' as const, residueBytes: RESIDUE, hostBytes: 0, tookMs: 100 };
  return ready({ limitBytes: limits.get(instanceId) ?? null });
};

/** Turns, limits and orders as the workflows carry them out, until nothing is left to do. */
async function settle(): Promise<void> {
  await query(ledger, `UPDATE pool_members SET looked_at = now()`);
  for (let turns = 0; turns < 12; turns += 1) {
    const { limits: members } = await planned();
    for (const { memberSessionId, lower, raise } of members)
      for (const orders of [lower, raise]) {
        for (const { instanceId, toBytes } of orders) limits.set(instanceId, toBytes);
        const results = orders.map(({ instanceId, toBytes }) => ({ instanceId, limitBytes: toBytes, kvUsedBytes: 0 }));
        await ledger.models.recordLimits('warm', memberSessionId, results);
      }
    const { claims } = await ledger.models.open();
    let done = members.length;
    for (const claimId of claims)
      for (const order of (await ledger.models.claimLife(claimId)).orders) {
        await ledger.models.settleOrder(order.instanceId, order.seq, resultOf(order));
        done += 1;
      }
    if (done === 0 && (await ledger.models.snapshot('warm'))?.changed === false) return;
  }
  throw new Error('it never comes to rest');
}

/** A look of the agent, and what it led to. */
async function looked(): Promise<void> {
  const snapshot = await ledger.models.snapshot('warm');
  const engines: MemberLook['engines'] = (snapshot?.instances ?? []).map(({ id, phase, claimId }) => {
    const model = snapshot?.claims.find((one) => one.id === claimId)?.model ?? '';
    const state = phase === 'SLEEPING' ? ('sleeping' as const) : ('ready' as const);
    return seen(id, { state, limitBytes: limits.get(id) ?? null, running: loads.get(model) ?? 0 });
  });
  const devices = [{ id: snapshot?.gpus[0]?.device ?? '', usableBytes: USABLE }];
  await look(ledger, engines, { devices }, (seenNow, nowMs) => isTurnDue(seenNow, nowMs + aheadMs));
  await settle();
}

/** In GiB to three places, as the pages of the specification give them. */
async function inForce() {
  const { items } = await ledger.models.claims({ limit: 10 }, EVERYTHING);
  return Object.fromEntries(
    items.map(({ modelName, instances, reason }) => {
      const [engine] = instances;
      const limit = Math.round(((engine?.limitBytes ?? 0) / GIB) * 1000) / 1000;
      return [
        modelName,
        engine === undefined ? (reason?.code ?? 'no reason') : engine.routable ? limit : (reason?.code ?? engine.phase),
      ];
    }),
  );
}
const ask = async (model: string) => {
  const found = await ledger.models.claim(model, EVERYTHING);
  await ledger.models.askWakes([{ claimId: found?.id ?? '', lastRequestMs: Date.now() }]);
  await settle();
};

test('the steps of the specification on the ledger: one claim, two, one that waits, one too large; then sleep and wakes in a pool that releases', async () => {
  await claim(ledger, 'a');
  await settle();
  expect(await inForce()).toEqual({ a: 65.1 });
  await claim(ledger, 'b');
  await settle();
  expect(await inForce()).toEqual({ a: 17.55, b: 17.55 });
  await claim(ledger, 'c');
  await settle();
  expect(await inForce()).toEqual({ a: 17.55, b: 17.55, c: 'NoRoom' });
  await claim(ledger, 'x', { perGpu: { maximumFootprint: '90Gi', kvFloor: '10Gi' } });
  await settle();
  expect(await inForce()).toMatchObject({ x: 'TooLargeForAnyGpu' });
  await ledger.models.endClaim('x', 'admin');

  await ledger.models.askSleep('a', 'admin');
  await settle();
  expect(await inForce()).toEqual({ a: 'EngineSleeping', b: 25.1, c: 'NoRoom' });
  await ask('a');
  expect(await inForce()).toEqual({ a: 17.55, b: 17.55, c: 'NoRoom' });

  await ledger.models.changePool(
    'warm',
    { policy: { noWakeReserveWhileAsleep: true, sleepToMakeRoomAfterSeconds: 20 } },
    'admin',
  );
  await ledger.models.askSleep('a', 'admin');
  await settle();
  expect(await inForce()).toEqual({ a: 'EngineSleeping', b: 16.885, c: 16.885 });
});

test('a wake makes room by the sleep of who is idle the longest, and waits while all serve; the record never promises more than the GPU', async () => {
  aheadMs = 60_000;
  await ask('a');
  const awake = await inForce();
  expect(awake).toMatchObject({ a: 16.885 });
  const [slept = '', stays = ''] = awake['b'] === 16.885 ? ['c', 'b'] : ['b', 'c'];
  expect(awake).toMatchObject({ [slept]: 'EngineSleeping', [stays]: 16.885 });

  loads.set('a', 2).set(stays, 2);
  await looked();
  await ask(slept);
  expect(await inForce()).toMatchObject({ [slept]: 'WaitingForRoom' });
  expect((await ledger.models.routes()).find((route) => route.modelName === slept)?.serving).toBe('WaitingForRoom');
  loads.set(stays, 0);
  await looked();
  aheadMs = 120_000;
  await looked();
  expect(await inForce()).toMatchObject({ [slept]: expect.any(Number), [stays]: 'EngineSleeping' });
  const snapshot = await ledger.models.snapshot('warm');
  const taken = (snapshot?.instances ?? []).reduce(
    (sum, { phase, residueBytes, limitBytes }) =>
      sum + (phase === 'SLEEPING' ? (residueBytes ?? 0) : gib(30) + (limitBytes ?? 0)),
    0,
  );
  expect(taken).toBeLessThanOrEqual(USABLE);
  expect((await planned()).details).not.toContain('account in error');
});
