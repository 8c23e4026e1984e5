import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BudgetId, groupPolicySchema, type SessionId } from '../../src/contract/index.js';
import { createStore } from '../../src/store/create-store.js';
import type { Store } from '../../src/store/store.js';
import { changeBudget, HOUR, makeBudget, openFairLedger, ROOT, startCharged, submitCharged } from './budgets.js';
import { emptyPlan, type Ledger, openPass, placeAll, stopOf, unsound } from './ledger.js';
import { preempt, query, runAgain } from './upkeep.js';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openFairLedger(8);
});
afterAll(() => ledger.store.close());

/** As if it had been placed so long before, and had run as long. */
const shift = (id: SessionId, hours: number) =>
  query(
    ledger,
    `WITH r AS (UPDATE reservations SET created_at = created_at - $2 * interval '1 hour' WHERE session_id = $1 AND released_at IS NULL)
     UPDATE sessions SET started_at = started_at - $2 * interval '1 hour' WHERE id = $1`,
    [id, hours],
  );
const end = async (id: SessionId, attempt = 1) => {
  await ledger.store.sessions.requestStop(stopOf(id));
  return ledger.store.sessions.finish(id, attempt, true);
};
/** Placements and folds of a pass that decides nothing. */
const pass = async (store: Store = ledger.store) => {
  const open = await openPass(store);
  await open.commit(emptyPlan(open));
  await open.close();
};
const leafOf = async (id: BudgetId, store: Store = ledger.store) =>
  (await store.budgets.facts()).leaves.find((leaf) => leaf.id === id);
const hours = (gpuTime: number | undefined) => Math.round((gpuTime ?? 0) / (1000 * HOUR) / 0.01) * 0.01;
const released = async (id: SessionId) => {
  const [row] = await query<{ ms: string }>(
    ledger,
    'SELECT sum(milli_gpus * ms_of(released_at - created_at)) AS ms FROM reservations WHERE session_id = $1',
    [id],
  );
  return Number(row?.ms);
};

describe('what is charged', () => {
  test('is GPUs from assignment to release, once, however often it is folded, and after a restart', async () => {
    const id = await makeBudget(ledger, 'plain');
    const sessionId = await startCharged(ledger, id, { minRuntimeSeconds: 7200 });
    await shift(sessionId, 1.5);
    expect(await leafOf(id)).toMatchObject({ runningMilliGpus: 1000, openSessions: 1, pendingMilliGpus: 0 });
    expect(hours((await leafOf(id))?.use)).toBeCloseTo(1.5, 1);
    expect(hours((await leafOf(id))?.committed)).toBeCloseTo(0.5, 1);
    await end(sessionId);
    const exact = await released(sessionId);
    expect(await leafOf(id)).toMatchObject({ use: exact, committed: 0, runningMilliGpus: 0 });
    for (let fold = 0; fold < 2; fold += 1) {
      await pass();
      expect(await leafOf(id)).toMatchObject({ use: exact });
    }
    const again = createStore({ connectionString: ledger.url, poolSize: 2 });
    await pass(again);
    expect(await leafOf(id, again)).toMatchObject({ use: exact });
    await again.close();
    expect(await ledger.store.budgets.charges([id], 5)).toMatchObject([
      { sessionId, budgetId: id, milliGpus: 1000, gpuTime: exact },
    ]);
    expect(await unsound(ledger.store)).toEqual({});
  });

  test('is both attempts of one that was stopped for another, and nothing of what waited between', async () => {
    const id = await makeBudget(ledger, 'twice');
    const sessionId = await startCharged(ledger, id, { resumable: true });
    await shift(sessionId, 2);
    await preempt(ledger, sessionId, { then: 'requeue' });
    expect(await ledger.store.sessions.finish(sessionId, 1, true)).toMatchObject({ state: 'PENDING' });
    const first = await released(sessionId);
    expect(await leafOf(id)).toMatchObject({ use: first, pendingMilliGpus: 1000, runningMilliGpus: 0 });
    await runAgain(ledger, sessionId, 2);
    await end(sessionId, 2);
    await pass();
    expect(await leafOf(id)).toMatchObject({ use: await released(sessionId) });
    expect(await released(sessionId)).toBeGreaterThanOrEqual(first);
    expect(await ledger.store.budgets.charges([id], 5)).toHaveLength(2);
  });

  test('ends for one that is not resumable with its stop', async () => {
    const id = await makeBudget(ledger, 'once');
    const sessionId = await startCharged(ledger, id);
    await shift(sessionId, 1);
    await preempt(ledger, sessionId, { then: 'end', cause: 'preempted' });
    expect(await ledger.store.sessions.finish(sessionId, 1, true)).toMatchObject({ state: 'TERMINATED' });
    expect(await leafOf(id)).toMatchObject({ use: await released(sessionId) });
  });

  test('is by the contract of the session, though some of its kernels, or all, have no GPU', async () => {
    const id = await makeBudget(ledger, 'launched');
    const slots = { cpuMilli: 100, memoryBytes: 2 ** 28 };
    const worker = { role: 'worker', count: 2, slots: { ...slots, gpuCount: 1 } };
    const gang = await submitCharged(ledger, id, { kernels: [{ role: 'main', slots }, worker] });
    const plain = await submitCharged(ledger, id, { kernels: [{ role: 'main', slots }] });
    await placeAll(ledger.store);
    const snapshot = await ledger.store.planning.snapshot('default');
    const budgetOf = (session: string) => snapshot?.running.find((one) => one.id === session)?.budgetId;
    expect([budgetOf(gang), budgetOf(plain)]).toEqual([id, id]);
    expect(snapshot?.running.find((one) => one.id === gang)).toMatchObject({ milliGpus: 2000 });
    expect(await leafOf(id)).toMatchObject({ runningMilliGpus: 2000, openSessions: 2 });
    for (const one of [gang, plain]) await end(one);
    await pass();
    expect(await leafOf(id)).toMatchObject({ use: (await released(gang)) + (await released(plain)) });
    expect(await released(plain)).toBe(0);
  });

  test.each([
    ['the platform failed', 'engine-failed'],
    ['a drain broke within the minimum runtime', 'broken'],
  ] as const)('is nothing of an attempt that %s', async (_, how) => {
    const id = await makeBudget(ledger, how);
    const sessionId = await startCharged(ledger, id, { retry: { maxAttempts: 1 } });
    await shift(sessionId, 3);
    if (how === 'broken') {
      await preempt(ledger, sessionId, { cause: 'drained', breaksMinRuntime: true });
      expect(await leafOf(id)).toMatchObject({ use: 0 });
    } else {
      await ledger.store.sessions.markEnding({ ...stopOf(sessionId), cause: how, actor: 'node', attempt: 1 });
    }
    await ledger.store.sessions.finish(sessionId, 1, true);
    await pass();
    expect((await leafOf(id))?.use ?? 0).toBe(0);
    const [from, until] = [Date.now() - 9 * HOUR, Date.now() + HOUR];
    const { leaves } = await ledger.store.budgets.periods([from, until]);
    expect(leaves.find(({ budgetId }) => budgetId === id)).toMatchObject({
      charged: [0],
      uncharged: [await released(sessionId)],
    });
  });

  test('leaves the buckets when it is waived after it was folded', async () => {
    const id = await makeBudget(ledger, 'late');
    const sessionId = await startCharged(ledger, id);
    await shift(sessionId, 30);
    await end(sessionId);
    await pass();
    expect((await leafOf(id))?.use).toBe(await released(sessionId));
    await query(ledger, 'UPDATE reservations SET charged = false WHERE session_id = $1', [sessionId]);
    expect((await leafOf(id))?.use ?? 0).toBe(0);
  });

  test('is never unallocated work: that counts for nothing but its like, of the leaf or of the project', async () => {
    const id = await makeBudget(ledger, 'free');
    const own = await startCharged(ledger, id, { minRuntimeSeconds: 0 });
    const nobody = await startCharged(ledger, null, { minRuntimeSeconds: 0 });
    for (const one of [own, nobody]) {
      await shift(one, 2);
      await end(one);
    }
    const { budgets } = (await ledger.store.planning.snapshot('default')) ?? {};
    expect(budgets?.leaves.find((leaf) => leaf.id === id)).toEqual({
      id,
      use: 0,
      committedElsewhere: 0,
      unallocatedUse: await released(own),
    });
    expect(budgets?.projects).toEqual([{ id: ledger.admin.projects[0]?.id, unallocatedUse: await released(nobody) }]);
  });

  test('stays where it was charged when a budget moves, and counts above it once it is closed', async () => {
    const [from, to] = [
      await makeBudget(ledger, 'from', { projectIds: [] }),
      await makeBudget(ledger, 'to', { projectIds: [] }),
    ];
    const id = await makeBudget(ledger, 'moving', { parentId: from });
    const sessionId = await startCharged(ledger, id);
    await shift(sessionId, 4);
    await end(sessionId);
    await pass();
    const exact = await released(sessionId);
    await changeBudget(ledger, id, () => ({ parentId: to }), 'parent');
    expect(await leafOf(id)).toMatchObject({ use: exact });
    await changeBudget(ledger, id, (_, ground) => ({ closedAt: ground.at }), 'closed');
    expect([await leafOf(id), (await leafOf(from))?.use ?? 0, await leafOf(to)]).toMatchObject([
      undefined,
      0,
      { use: exact },
    ]);
    await changeBudget(ledger, to, (_, ground) => ({ closedAt: ground.at }), 'closed');
    expect((await leafOf(ROOT))?.use).toBe(exact);
    expect(await ledger.store.budgets.charges([ROOT], 5)).toMatchObject([{ sessionId, gpuTime: exact }]);
  });

  test('of other groups is committed elsewhere', async () => {
    const id = await makeBudget(ledger, 'elsewhere');
    const sessionId = await startCharged(ledger, id, { minRuntimeSeconds: 3600 });
    const policy = groupPolicySchema.parse({ order: 'fair-share' });
    await ledger.store.settings.createGroup({ name: 'other', policy, domains: [], projects: [] });
    const there = await ledger.store.budgets.forGroup('other');
    expect(hours(there.leaves.find((leaf) => leaf.id === id)?.committedElsewhere)).toBeCloseTo(1, 1);
    const here = await ledger.store.budgets.forGroup('default');
    expect(here.leaves.find((leaf) => leaf.id === id)?.committedElsewhere ?? 0).toBe(0);
    await end(sessionId);
  });
});

describe('demand', () => {
  test('is while allocated work waits and nothing holds it back, or has its room', async () => {
    const id = await makeBudget(ledger, 'asking');
    const [later, now] = [new Date(Date.now() + HOUR).toISOString(), new Date().toISOString()];
    const held = await submitCharged(ledger, id, { startsAt: later });
    const free = await submitCharged(ledger, id, { minRuntimeSeconds: 0 });
    expect((await leafOf(id))?.pendingMilliGpus).toBe(0);
    const two = { kernels: [{ role: 'main', slots: { cpuMilli: 100, memoryBytes: 2 ** 30, gpuCount: 2 } }] };
    const waits = await submitCharged(ledger, id, two);
    expect(await leafOf(id)).toMatchObject({ pendingMilliGpus: 2000, openSessions: 3 });
    await query(ledger, `UPDATE sessions SET reason_class = 'hold' WHERE id = $1`, [waits]);
    expect((await leafOf(id))?.pendingMilliGpus).toBe(0);
    await query(ledger, `UPDATE sessions SET reason_class = 'wait' WHERE id = $1`, [waits]);
    for (const one of [held, free]) await ledger.store.sessions.requestStop(stopOf(one));
    await placeAll(ledger.store);
    await end(waits);
    const intervals = await query<{ milli_gpus: string; open: boolean }>(
      ledger,
      'SELECT milli_gpus, ended_at IS NULL AS open FROM demand_intervals WHERE session_id = $1 ORDER BY id',
      [waits],
    );
    expect(new Set(intervals.map((one) => `${one.milli_gpus} ${one.open}`))).toEqual(new Set(['2000 false']));
    const [row] = await query<{ ms: string }>(
      ledger,
      'SELECT sum(milli_gpus * ms_of(ended_at - started_at)) AS ms FROM demand_intervals WHERE budget_id = $1',
      [id],
    );
    const { leaves } = await ledger.store.budgets.periods([Date.parse(now) - HOUR, Date.now() + HOUR]);
    expect(leaves.find(({ budgetId }) => budgetId === id)?.demand).toEqual([Number(row?.ms)]);
  });
});
