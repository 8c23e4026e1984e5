import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Waiting } from '../../src/contract/index.js';
import { createStore } from '../../src/store/create-store.js';
import type { Store } from '../../src/store/store.js';
import {
  emptyPlan,
  exitOf,
  GIB,
  joinNode,
  type Ledger,
  nodeFacts,
  openLedger,
  openPass,
  placeAll,
  planAll,
  startSession,
  stopOf,
  submitAndAdmit,
  unsound,
} from './ledger.js';
import { query } from './upkeep.js';

let ledger: Ledger;
let store: Store;
beforeEach(async () => {
  ledger = await openLedger();
  store = ledger.store;
});
afterEach(() => store.close());

const waits = (sessionId: string, version: number, change: Partial<Waiting> = {}): Waiting => ({
  sessionId: sessionId as Waiting['sessionId'],
  version,
  reason: 'insufficient_capacity',
  message: 'needs 1 GPU, 0 are free',
  blockers: [],
  violations: [],
  nodes: { fit: 0, rejected: { insufficient_gpu: 1 } },
  nearest: null,
  expectedStart: { at: null, basis: 'not worked out' },
  decay: null,
  ...change,
});

describe('two planners at once', () => {
  test('take turns: the second gets the group when the first closes', async () => {
    const first = await openPass(store);
    expect(await store.planning.openPass('default', 50)).toBeNull();
    await first.close();
    await (await openPass(store)).close();
    expect(await store.planning.openPass('nobody', 50)).toBeNull();
  });

  test('never book a device twice, even where the lock is lost: the older generation is refused', async () => {
    await submitAndAdmit(ledger);
    await submitAndAdmit(ledger);
    const first = await openPass(store);
    const plan = planAll(first, await first.nextPage());
    await freeLocks(ledger.url);
    const twin = createStore({ connectionString: ledger.url });
    const second = await openPass(twin);
    expect(await second.commit(planAll(second, await second.nextPage()))).toMatchObject({
      outcome: 'committed',
      dropped: 0,
    });
    await expect(first.commit(plan)).rejects.toThrow();
    await first.close();
    await second.close();
    const third = await openPass(store);
    expect(await third.commit({ ...plan, generation: plan.generation })).toMatchObject({
      outcome: 'stale',
      placed: [],
    });
    await third.close();
    await twin.close();
    expect(await unsound(store)).toEqual({});
  });

  test('that both commit the same plan at the same generation book it once', async () => {
    for (let index = 0; index < 4; index += 1) await submitAndAdmit(ledger);
    const pass = await openPass(store);
    const plan = planAll(pass, await pass.nextPage());
    await pass.close(); // the lock is free: what follows is decided by the rows alone
    const both = await Promise.all(
      [pass, pass].map(async () => {
        const own = createStore({ connectionString: ledger.url });
        const open = await own.planning.openPass('default', 2000);
        const result = await open?.commit(plan);
        await open?.close();
        await own.close();
        return result?.outcome;
      }),
    );
    expect(both.toSorted()).toEqual(['committed', 'stale']);
    expect(await unsound(store)).toEqual({});
  });

  test('killed between plan and commit, it leaves nothing, and the next one places', async () => {
    const sessionId = await submitAndAdmit(ledger);
    const pass = await openPass(store);
    planAll(pass, await pass.nextPage());
    await freeLocks(ledger.url);
    expect(await placeAll(store)).toMatchObject({ placed: [{ sessionId }] });
    await pass.close();
    expect(await unsound(store)).toEqual({});
  });
});

/** Ends the connections that hold advisory locks, as the death of their processes would. */
async function freeLocks(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()",
  );
  await client.end();
}

describe('a commit', () => {
  test('drops a plan that books more than there is, choice by choice', async () => {
    for (let index = 0; index < 6; index += 1) await submitAndAdmit(ledger, { kernels: [cpu(1000)] });
    expect(await placeAll(store)).toMatchObject({ placed: { length: 4 }, dropped: 2 });
    expect(await unsound(store)).toEqual({});
  });
  test('drops two choices of one device but the first', async () => {
    const ids = [await submitAndAdmit(ledger), await submitAndAdmit(ledger)];
    const pass = await openPass(store);
    const plan = planAll(pass, await pass.nextPage());
    const greedy = plan.placed.map((one) => ({
      ...one,
      kernels: one.kernels.map((kernel) => ({ ...kernel, deviceIds: ['gpu-0'] })),
    }));
    expect(await pass.commit({ ...plan, placed: greedy })).toMatchObject({
      placed: [{ sessionId: ids[0] }],
      dropped: 1,
    });
    await pass.close();
    expect(await unsound(store)).toEqual({});
  });
  test('holds quotas that groups share: what another placed counts', async () => {
    await store.settings.putQuota('project', 'default', { limits: { gpuCount: 1 }, ifMatch: null });
    await submitAndAdmit(ledger);
    await submitAndAdmit(ledger);
    expect(await placeAll(store)).toMatchObject({ placed: { length: 1 }, dropped: 1 });
    expect(await store.settings.getQuota('project', 'default/default')).toMatchObject({
      held: { gpuCount: 1, sessions: 1 },
      pendingSessions: 1,
    });
  });
  test('is made stale by capacity, cordon, policy and quota, not by submits, stops and releases', async () => {
    const running = await startSession(ledger);
    const generation = async () => (await store.planning.snapshot('default'))?.group.generation ?? 0;
    const raisedBy = async (work: () => Promise<unknown>) => {
      const before = await generation();
      await work();
      return (await generation()) - before;
    };
    const waiting = await submitAndAdmit(ledger);
    expect(await raisedBy(() => submitAndAdmit(ledger))).toBe(0);
    expect(await raisedBy(() => store.sessions.requestStop(stopOf(waiting)))).toBe(0);
    expect(await raisedBy(() => store.nodes.report('n1', [exitOf(running.kernelId)]))).toBe(0);
    expect(await raisedBy(() => store.sessions.finish(running.sessionId, 1, true))).toBe(0);
    expect(await raisedBy(() => store.nodes.register('n1', nodeFacts()))).toBe(0);
    expect(await raisedBy(() => store.nodes.register('n1', nodeFacts(5)))).toBe(1);
    expect(await raisedBy(() => store.nodes.setCordon('n1', true, 'by hand'))).toBe(1);
    expect(
      await raisedBy(() =>
        store.settings.patchGroup('default', { policy: { placement: 'concentrated' }, ifMatch: null }),
      ),
    ).toBe(1);
    expect(
      await raisedBy(() => store.settings.putQuota('user', 'admin', { limits: { gpuCount: 9 }, ifMatch: null })),
    ).toBe(1);
  });
  test('places under 20 submits a second without ever being refused', async () => {
    let isOpen = true;
    const submits = (async () => {
      while (isOpen) await submitAndAdmit(ledger, { kernels: [cpu(1)] });
    })();
    const outcomes: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      const pass = await openPass(store);
      const plan = planAll(pass, await pass.nextPage());
      await new Promise((resolve) => setTimeout(resolve, 100));
      outcomes.push((await pass.commit(plan)).outcome);
      await pass.close();
    }
    isOpen = false;
    await submits;
    expect(outcomes).toEqual(Array(5).fill('committed'));
  });
});

const cpu = (cpuMilli: number) => ({ role: 'main', slots: { cpuMilli, memoryBytes: 8 * 2 ** 20 } });

describe('a release', () => {
  test('never waits for a commit that has the node’s row', async () => {
    const running = await startSession(ledger);
    const client = new pg.Client({ connectionString: ledger.url });
    await client.connect();
    await client.query('BEGIN; UPDATE node_use SET epoch = epoch; UPDATE resource_groups SET generation = generation');
    await store.nodes.report('n1', [exitOf(running.kernelId)]);
    const started = performance.now();
    await store.sessions.finish(running.sessionId, 1, true);
    await store.planning.markDirty('default');
    expect(performance.now() - started).toBeLessThan(1000);
    await client.query('ROLLBACK');
    await client.end();
  });
});

describe('dirty', () => {
  test('signals once, and again after the pass that cleared it', async () => {
    expect(await store.planning.markDirty('default', true)).toBe(false);
    await submitAndAdmit(ledger);
    const turnedOn = await Promise.all(Array.from({ length: 20 }, () => store.planning.markDirty('default')));
    expect(turnedOn.filter(Boolean)).toHaveLength(1);
    await placeAll(store);
    expect(await store.planning.markDirty('default')).toBe(true);
  });
});

describe('signals follow from rows', () => {
  test('a SCHEDULED row is told again only when its last telling is old', async () => {
    const sessionId = await submitAndAdmit(ledger);
    await placeAll(store);
    expect(await store.planning.dueSignals({ olderThanMs: 60_000, limit: 10 })).toEqual([]);
    const placed = [{ sessionId, kind: 'placed', attempt: 1 }];
    expect(await store.planning.dueSignals({ group: 'default', olderThanMs: 0, limit: 10 })).toEqual(placed);
    expect(await store.planning.dueSignals({ group: 'other', olderThanMs: 0, limit: 10 })).toEqual([]);
    await store.sessions.begin(sessionId, 1);
    expect(await store.planning.dueSignals({ olderThanMs: 0, limit: 10 })).toEqual([]);
    await store.sessions.requestStop(stopOf(sessionId));
    expect(await store.planning.dueSignals({ olderThanMs: 0, limit: 10 })).toEqual([
      { sessionId, kind: 'stop', attempt: 1 },
    ]);
  });

  test.each([
    ['a stop', "stop_requested_at = t.since, state = 'TERMINATING', ending_at = t.since"],
    ['an exit', "state = 'TERMINATING', ending_at = t.since"],
    ['a placement', 'placed_at = t.since'],
    ['a preemption', "state = 'PREEMPTING', preempt_asked_at = t.since"],
  ])('%s that stays open for long is told less and less often, not each few seconds for ever', async (_what, owed) => {
    const sessionId = await submitAndAdmit(ledger);
    await placeAll(store);
    const sends = async (openSeconds: number, silentSeconds: number) => {
      await query(
        ledger,
        `UPDATE sessions SET ${owed}, signalled_at = now() - $2::int * interval '1 second'
         FROM (SELECT now() - ($2::int + $3::int) * interval '1 second' AS since) t WHERE id = $1`,
        [sessionId, silentSeconds, openSeconds],
      );
      return (await store.planning.dueSignals({ olderThanMs: 5_000, limit: 10 })).length;
    };
    expect([await sends(0, 6), await sends(60, 6), await sends(60, 21)]).toEqual([1, 0, 1]);
    expect([await sends(3_600, 200), await sends(360_000, 299), await sends(360_000, 301)]).toEqual([0, 0, 1]);
  });
});

describe('reasons', () => {
  test('are written where they differ, told as events where the reason changes, and derived behind the blocker', async () => {
    const head = await submitAndAdmit(ledger, { name: 'alice' });
    const second = await submitAndAdmit(ledger, { name: 'bob' });
    expect(await store.planning.why(second)).toMatchObject({ class: 'wait', reason: 'awaiting_pass' });
    const block = async (message: string) => {
      const pass = await openPass(store);
      const page = await pass.nextPage();
      const waiting = [waits(head, page[0]?.version ?? 0, { message })];
      await pass.commit(emptyPlan(pass, { waiting, blockedBy: waiting[0]?.sessionId ?? null, skipped: 1 }));
      await pass.close();
    };
    await block('needs 1');
    await block('needs 1');
    await block('needs 2');
    const told = (await store.events.ofSession(head, null, 50)).filter((event) => event.kind === 'reason');
    expect(told.map((event) => event.to)).toEqual(['insufficient_capacity']);
    expect(await store.planning.why(head)).toMatchObject({
      reason: 'insufficient_capacity',
      message: 'needs 2',
      queue: { position: 1 },
      nodes: { fit: 0 },
    });
    const behind = await store.planning.why(second);
    expect(behind).toMatchObject({ reason: 'behind_in_queue', queue: { position: 2, gpusAhead: 1 }, eta: null });
    expect(behind?.message).toContain('alice');
    expect(behind?.actions.map((action) => action.command)).toContain(`berth why ${head}`);
    const queue = await store.planning.queue('default', { limit: 1 });
    expect(queue?.items).toMatchObject([{ position: 1, name: 'alice', blockedBy: null }]);
    const next = await store.planning.queue('default', { limit: 1, cursor: queue?.nextCursor ?? '' });
    expect(next).toMatchObject({
      items: [{ position: 2, name: 'bob', blockedBy: head, reason: 'behind_in_queue' }],
      nextCursor: null,
    });
    expect(await store.planning.headText('default')).toContain(
      '**alice** (admin, priority 10): `insufficient_capacity` needs 2',
    );
    const ahead = await submitAndAdmit(ledger, { priority: 50 });
    expect(await store.planning.why(ahead)).toMatchObject({ reason: 'awaiting_pass', queue: { position: 1 } });
    await store.sessions.requestStop(stopOf(head));
    expect(await store.planning.why(second)).toMatchObject({ reason: 'awaiting_pass' });
    await store.settings.patchGroup('default', { policy: { paused: true }, ifMatch: null });
    expect(await store.planning.why(second)).toMatchObject({ class: 'hold', reason: 'queue_paused' });
  });
});

describe('pages of the queue', () => {
  test('come in queue order without gap or repeat', async () => {
    const priorities = [10, 50, 10, 0, 100];
    const ids: string[] = [];
    for (const priority of priorities)
      ids.push(
        await submitAndAdmit(ledger, {
          priority,
          kernels: [{ role: 'main', slots: { cpuMilli: 1, memoryBytes: GIB } }],
        }),
      );
    const pass = await openPass(store);
    const page = await pass.nextPage();
    expect(page.map((one) => one.id)).toEqual([4, 1, 0, 2, 3].map((index) => ids[index]));
    expect(await pass.nextPage()).toEqual([]);
    await pass.close();
  });
});

describe('what passes know of the nodes', () => {
  test('from the cache is what a full read finds, after each kind of change', async () => {
    const fresh = async () => {
      const other = createStore({ connectionString: ledger.url });
      const snapshot = await other.planning.snapshot('default');
      await other.close();
      return snapshot;
    };
    const changes: readonly (() => Promise<unknown>)[] = [
      () => startSession(ledger),
      () => joinNode(store, 'n2', 2),
      () => store.nodes.register('n1', nodeFacts(3)),
      () => store.nodes.setCordon('n2', true, 'by hand'),
      () => submitAndAdmit(ledger).then(() => placeAll(store)),
      () => store.nodes.remove('n2'),
      () => store.nodes.create({ name: 'n3', group: 'default', zone: 'a', tokenHash: Buffer.from('n3') }),
    ];
    for (const change of changes) {
      await change();
      const [cached, full] = [await store.planning.snapshot('default'), await fresh()];
      expect({ ...cached, takenAt: '' }).toEqual({ ...full, takenAt: '' });
    }
  });
});
