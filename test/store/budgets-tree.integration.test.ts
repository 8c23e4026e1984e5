import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BudgetId } from '../../src/contract/index.js';
import { createStore } from '../../src/store/create-store.js';
import { changeBudget, changing, makeBudget, openFairLedger, ROOT, startCharged, submitCharged } from './budgets.js';
import { emptyPlan, type Ledger, openLedger, openPass } from './ledger.js';
import { query } from './upkeep.js';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openFairLedger();
});
afterAll(() => ledger.store.close());

const generation = async () => (await ledger.store.planning.snapshot('default'))?.group.generation ?? 0;
const rows = async () => (await ledger.store.budgets.facts()).rows;
const rowOf = async (id: BudgetId) => (await rows()).find((row) => row.id === id);

describe('the tree of budgets', () => {
  test('begins with a root; a change raises the generation, kicks once, and is told in the history of all above it', async () => {
    expect(await rowOf(ROOT)).toMatchObject({ name: 'root', parentId: null, domain: null, closedAt: null });
    const before = await generation();
    const research = await makeBudget(ledger, 'research', { projectIds: [] });
    const nlp = await makeBudget(ledger, 'nlp', { parentId: research, managerIds: [ledger.admin.userId] });
    expect(await generation()).toBe(before + 2);
    await query(ledger, 'UPDATE group_dirty SET dirty_at = NULL');
    const changed = await changeBudget(ledger, nlp, () => ({ weight: 5 }), 'weight');
    expect(changed).toMatchObject({
      kicks: ['default'],
      row: { weight: 5, etag: '2', managers: [{ path: 'default/admin' }] },
    });
    const history = await ledger.store.budgets.changes(research, { limit: 2 }, null);
    expect(history.items).toMatchObject([
      { budget: 'nlp', field: 'weight', before: 1, after: 5, actor: 'admin' },
      { budget: 'nlp', field: 'created' },
    ]);
    const rest = await ledger.store.budgets.changes(research, { limit: 9, cursor: history.nextCursor ?? '' }, null);
    expect(rest.items).toMatchObject([{ budget: 'research', field: 'created' }]);
    const versions = (await ledger.store.budgets.versions(0)).filter(({ budgetId }) => budgetId === nlp);
    expect(versions).toMatchObject([
      { parentId: research, weight: 1 },
      { weight: 5, untilMs: null },
    ]);
    expect(versions[0]?.untilMs).toBe(versions[1]?.sinceMs);
  });

  test('has one truth under changes at once', async () => {
    const id = await makeBudget(ledger, 'crowded');
    await Promise.all(
      Array.from({ length: 12 }, () => changeBudget(ledger, id, ({ weight }) => ({ weight: weight + 1 }), 'weight')),
    );
    expect(await rowOf(id)).toMatchObject({ weight: 13, etag: '13' });
    const { items } = await ledger.store.budgets.changes(id, { limit: 50 }, null);
    expect(items.filter(({ field }) => field === 'weight').map(({ after }) => after)).toEqual(
      Array.from({ length: 12 }, (_, index) => 13 - index),
    );
  });

  test.each([
    ['what the decider refuses', () => ({ refused: 'no' as const })],
    ['a budget below itself', 'cycle' as const],
    ['a negative weight', 'weight' as const],
    ['a name that a sibling has', 'name' as const],
    ['a second root', 'root' as const],
    ['a domain that is none', 'domain' as const],
  ])('is not changed at all by %s', async (what, bad) => {
    const parent = await makeBudget(ledger, `p-${what.replaceAll(' ', '-').slice(0, 40)}`, { projectIds: [] });
    const child = await makeBudget(ledger, 'child', { parentId: parent });
    const sibling = await makeBudget(ledger, 'sibling', { parentId: parent });
    const before = { rows: await rows(), generation: await generation() };
    const changes = {
      cycle: changing(parent, () => ({ parentId: child }), 'parent'),
      weight: changing(child, () => ({ weight: -1 }), 'weight'),
      name: changing(sibling, () => ({ name: 'child' }), 'weight'),
      root: changing(child, () => ({ parentId: null }), 'parent'),
      domain: changing(child, () => ({ domainId: 'dom_none' }), 'parent'),
    };
    const decide = typeof bad === 'string' ? changes[bad] : bad;
    const done = ledger.store.budgets.change<'no'>({ domains: [], projects: [], users: [] }, decide, 'admin');
    if (typeof bad === 'string') await expect(done).rejects.toThrow();
    else expect(await done).toEqual({ refused: 'no' });
    expect({ rows: await rows(), generation: await generation() }).toEqual(before);
  });

  test('gives the decider the names that it asked for, and who charges what', async () => {
    const id = await makeBudget(ledger, 'busy');
    const sessionId = await submitCharged(ledger, id, { name: 'waits' });
    const lookUp = { domains: ['default', 'none'], projects: ['default/default'], users: ['default/admin', 'x/y'] };
    const answer = await ledger.store.budgets.change(lookUp, (ground) => ({ refused: ground }), 'admin');
    expect(answer).toMatchObject({
      refused: {
        domains: [{ name: 'default' }],
        projects: [{ path: 'default/default' }],
        users: [{ id: ledger.admin.userId, path: 'default/admin' }],
      },
    });
    const { openSessions } = 'refused' in answer ? answer.refused : { openSessions: [] };
    expect(openSessions.filter(({ budgetId }) => budgetId === id)).toEqual([
      { budgetId: id, id: sessionId, name: 'waits' },
    ]);
  });
});

test('settings are compared by their ETag, and factors weigh what is there from then on', async () => {
  const { etag, ...settings } = await ledger.store.budgets.settings();
  expect(settings).toEqual({ windowSeconds: 604_800, halfLifeSeconds: null, factors: {}, unallocatedGraceSeconds: 30 });
  const by = { principal: ledger.admin, etag };
  const put = await ledger.store.budgets.putSettings({ ...settings, factors: { 'sim-24': 0.5 } }, by);
  expect(put).toMatchObject({ settings: { factors: { 'sim-24': 0.5 } } });
  expect(await ledger.store.budgets.putSettings(settings, by)).toBe('stale');
  expect((await ledger.store.budgets.facts()).presentMilliGpus).toBe(2000);
  await ledger.store.budgets.putSettings(settings, { ...by, etag: null });
  expect((await ledger.store.budgets.facts()).presentMilliGpus).toBe(4000);
});

describe('a session of a budget', () => {
  test('shows it with its contract, carries it in snapshots, and without one it is unallocated', async () => {
    const id = await makeBudget(ledger, 'shown');
    const sessionId = await startCharged(ledger, id, { resumable: true });
    const free = await submitCharged(ledger, null, { minRuntimeSeconds: 0 });
    const shown = await ledger.store.sessions.get(sessionId, ledger.admin);
    expect(shown).toMatchObject({ budget: 'shown', contract: { allocated: true } });
    const other = await ledger.store.sessions.get(free, ledger.admin);
    expect(other).toMatchObject({ budget: null, contract: { allocated: false } });
    expect(other?.contract?.message).toBe(
      "no minimum runtime: free, and may be stopped at any time after 10 s' notice",
    );
    const snapshot = await ledger.store.planning.snapshot('default');
    expect(snapshot?.running.find((one) => one.id === sessionId)).toMatchObject({ budgetId: id, resumable: true });
    expect(snapshot?.pending.find((one) => one.id === free)).toMatchObject({ budgetId: null });
    expect(snapshot?.budgets?.nodes.find((node) => node.id === id)).toMatchObject({ name: 'shown', parentId: ROOT });
    expect(snapshot?.budgets).toMatchObject({ factors: {}, unallocatedGraceSeconds: 30, windowSeconds: 604_800 });
  });

  test('waits without it once it is closed, or is a leaf no more', async () => {
    const closed = await makeBudget(ledger, 'closing');
    const parent = await makeBudget(ledger, 'splitting');
    const first = await submitCharged(ledger, closed);
    const second = await submitCharged(ledger, parent);
    const budgetOf = async (id: string) =>
      (await ledger.store.planning.snapshot('default'))?.pending.find((one) => one.id === id)?.budgetId;
    expect([await budgetOf(first), await budgetOf(second)]).toEqual([closed, parent]);
    await changeBudget(ledger, closed, (_, ground) => ({ closedAt: ground.at }), 'closed');
    await makeBudget(ledger, 'half', { parentId: parent });
    expect([await budgetOf(first), await budgetOf(second)]).toEqual([null, null]);
  });

  test('is not admitted to a budget that was closed, or got others below it, since its admission was read', async () => {
    const closed = await makeBudget(ledger, 'closed-since');
    const parent = await makeBudget(ledger, 'split-since');
    const known = await submitCharged(ledger, closed);
    await changeBudget(ledger, closed, (_, ground) => ({ closedAt: ground.at }), 'closed');
    await makeBudget(ledger, 'half-since', { parentId: parent });
    for (const id of [closed, parent])
      await expect(submitCharged(ledger, id)).rejects.toThrow('was closed or divided during the admission');
    const again = await ledger.store.sessions.readAdmission(known);
    if (again === null) throw new Error('no submission');
    expect(await ledger.store.sessions.insertPending(again, [], closed)).toMatchObject({ sessionId: known });
  });
});

test('once its group orders by fair share, what runs and names no budget is protected no longer', async () => {
  const own = await openLedger({ gpus: 4 });
  try {
    const id = await startCharged(own, null, { minRuntimeSeconds: 3600 });
    const charged = await startCharged(own, await makeBudget(own, 'kept'), { minRuntimeSeconds: 3600 });
    const shown = async (sessionId: typeof id) => (await own.store.sessions.get(sessionId, own.admin))?.protectedUntil;
    const [before, kept] = [await shown(id), await shown(charged)];
    expect([typeof before, typeof kept]).toEqual(['string', 'string']);
    await own.store.settings.patchGroup('default', { policy: { order: 'fair-share' }, ifMatch: null });
    expect([await shown(id), await shown(charged)]).toEqual([null, kept]);
  } finally {
    await own.store.close();
  }
});

test('the queue is in the order of the last pass, those who came since behind it, and so it is after a restart', async () => {
  const own = await openFairLedger();
  const store = createStore({ connectionString: own.url, poolSize: 2 });
  try {
    const ids = [];
    for (const name of ['a', 'b', 'c']) ids.push(await submitCharged(own, null, { name, minRuntimeSeconds: 0 }));
    const pass = await openPass(own.store);
    await pass.commit(emptyPlan(pass, { order: ids.toReversed() }));
    await pass.close();
    ids.push(await submitCharged(own, null, { name: 'late', minRuntimeSeconds: 0, priority: 100 }));
    const names = async (from: typeof store) => {
      const first = await from.planning.queue('default', { limit: 2 });
      const cursor = first?.nextCursor ?? '';
      const then = await from.planning.queue('default', { limit: 9, cursor });
      return [...(first?.items ?? []), ...(then?.items ?? [])].map((one) => [one.name, one.position, one.gpusAhead]);
    };
    const expected = [
      ['c', 1, 0],
      ['b', 2, 1],
      ['a', 3, 2],
      ['late', 4, 3],
    ];
    expect(await names(own.store)).toEqual(expected);
    expect(await names(store)).toEqual(expected);
    const [first] = ids;
    if (first === undefined) throw new Error('nobody waits');
    expect((await store.planning.why(first))?.queue).toMatchObject({ position: 3, gpusAhead: 2 });
    const written = () => query<{ at: Date }>(own, 'SELECT written_at AS at FROM group_orders');
    const [before] = await written();
    const again = await openPass(own.store);
    await again.commit(emptyPlan(again, { order: ids.slice(0, 3).toReversed() }));
    await again.close();
    expect(await written()).toEqual([before]);
  } finally {
    await store.close();
    await own.store.close();
  }
});
