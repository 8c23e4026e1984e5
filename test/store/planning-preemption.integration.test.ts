import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SessionId } from '../../src/contract/index.js';
import { exitOf, type Ledger, openLedger, startSession, stopOf, submitAndAdmit, unsound } from './ledger.js';
import { commit, holdOrder, placedOf, stopOrder } from './plans.js';
import { charges, query, rowOf } from './upkeep.js';

let ledger: Ledger;
beforeEach(async () => {
  ledger = await openLedger({ gpus: 2 });
});
afterEach(() => ledger.store.close());

const snapshot = async () => {
  const found = await ledger.store.planning.snapshot('default');
  if (found === null) throw new Error('no group');
  return found;
};
const stateOf = async (sessionId: SessionId) => (await ledger.store.sessions.get(sessionId, ledger.admin))?.state;
const due = () => ledger.store.planning.dueSignals({ olderThanMs: 0, limit: 10 });

/** Two run, each on one device; alice waits and wants the room of both. */
async function crowd() {
  const bob = (await startSession(ledger, { name: 'bob' })).sessionId;
  const carol = await startSession(ledger, { name: 'carol' });
  const alice = await submitAndAdmit(ledger, { name: 'alice', priority: 90 });
  const plan = async () => ({
    stops: [
      await stopOrder(ledger, bob, { forSessionId: alice, graceSeconds: 5 }),
      await stopOrder(ledger, carol.sessionId, { forSessionId: alice }),
    ],
    holds: [await holdOrder(ledger, alice, [bob, carol.sessionId])],
  });
  return { alice, bob, carol: carol.sessionId, carolKernel: carol.kernelId, plan };
}

describe('a plan that stops', () => {
  test('moves each to PREEMPTING with its cause and time, keeps the room, and tells them until they know', async () => {
    const { alice, bob, carol, plan } = await crowd();
    const committed = await commit(ledger, await plan());
    const signals = [bob, carol].map((sessionId) => ({ sessionId, kind: 'preempt', attempt: 1 }));
    expect(committed).toMatchObject({ signals, dropped: 0 });
    const { running, holds, pending } = await snapshot();
    expect(running.map((one) => [one.id, one.goneBy !== null])).toEqual([
      [bob, true],
      [carol, true],
    ]);
    expect(holds).toMatchObject([
      { sessionId: alice, victims: [bob, carol], kernels: [{ node: 'n1', deviceIds: ['gpu-0'] }] },
    ]);
    expect(pending.find(({ id }) => id === alice)).toMatchObject(holds[0]?.waiter as object);
    expect(Object.keys(holds[0]?.waiter as object)).toHaveLength(5);
    const events = await ledger.store.events.ofSession(bob, null, 50);
    expect(events.at(-1)).toMatchObject({
      from: 'RUNNING',
      to: 'PREEMPTING',
      cause: 'preempted',
      actor: 'planner',
      data: { for: alice, then: 'requeue', graceSeconds: 5 },
    });
    expect(await due()).toEqual(expect.arrayContaining(signals));
    await query(ledger, 'UPDATE sessions SET preempt_seen_at = now() WHERE id = $1', [bob]);
    expect(await due()).toEqual([{ sessionId: carol, kind: 'preempt', attempt: 1 }]);
    expect(await ledger.store.planning.why(bob)).toMatchObject({
      state: 'PREEMPTING',
      class: 'running',
      message: expect.stringContaining('alice needs its room'),
    });
    expect(await unsound(ledger.store)).toEqual({});
  });

  test('run again is stale: nobody is stopped twice', async () => {
    const { bob, plan } = await crowd();
    const parts = { ...(await plan()), generation: (await snapshot()).group.generation };
    expect(await commit(ledger, parts)).toMatchObject({ outcome: 'committed' });
    const before = await rowOf(ledger, bob);
    expect(await commit(ledger, parts)).toMatchObject({ outcome: 'stale', signals: [] });
    expect(await rowOf(ledger, bob)).toEqual(before);
  });

  type Crowd = Awaited<ReturnType<typeof crowd>>;
  const races: readonly [title: string, race: (people: Crowd) => Promise<unknown>, state: string][] = [
    ['a stop by its user', ({ carol }) => ledger.store.sessions.requestStop(stopOf(carol)), 'TERMINATING'],
    ['its own exit', ({ carolKernel }) => ledger.store.nodes.report('n1', [exitOf(carolKernel)]), 'TERMINATING'],
    [
      'its end',
      async ({ carol, carolKernel }) => {
        await ledger.store.nodes.report('n1', [exitOf(carolKernel)]);
        await ledger.store.sessions.finish(carol, 1, true);
      },
      'TERMINATED',
    ],
  ];
  test.each(races)('and is overtaken by %s of one victim stops nobody and keeps nothing', async (_, race, state) => {
    const people = await crowd();
    const committed = await commit(ledger, await people.plan(), () => race(people));
    expect(committed).toMatchObject({ outcome: 'committed', signals: [], dropped: 3 });
    expect([await stateOf(people.bob), await stateOf(people.carol)]).toEqual(['RUNNING', state]);
    expect((await snapshot()).holds).toEqual([]);
  });
  test('for one who was cancelled meanwhile stops nobody', async () => {
    const { alice, bob, plan } = await crowd();
    const committed = await commit(ledger, await plan(), () => ledger.store.sessions.requestStop(stopOf(alice)));
    expect(committed).toMatchObject({ signals: [], dropped: 3 });
    expect(await stateOf(bob)).toBe('RUNNING');
  });
  test('for a drain holds session by session, and what it breaks is not charged', async () => {
    const { bob, carol } = await crowd();
    const drained = { cause: 'drained' as const, then: 'end' as const, breaksMinRuntime: true };
    const stops = [await stopOrder(ledger, bob, drained), await stopOrder(ledger, carol, drained)];
    const committed = await commit(ledger, { stops }, () => ledger.store.sessions.requestStop(stopOf(carol)));
    expect(committed).toMatchObject({ signals: [{ sessionId: bob, kind: 'preempt' }], dropped: 1 });
    expect([await charges(ledger, bob), await charges(ledger, carol)]).toEqual([[[1, false]], [[1, true]]]);
  });
});

describe('room that is kept', () => {
  test('is given up with the placement, which gives the priority back and clears what waiting left', async () => {
    const { alice, bob, carol, plan } = await crowd();
    await commit(ledger, await plan());
    await query(
      ledger,
      "UPDATE sessions SET priority = 30, decay_tries = 3, retry_at = now(), nearest = '{}' WHERE id = $1",
      [alice],
    );
    for (const victim of [bob, carol]) {
      await ledger.store.sessions.requestStop(stopOf(victim));
      await ledger.store.sessions.finish(victim, 1, true);
    }
    expect(await commit(ledger, { placed: [placedOf(await holdOrder(ledger, alice, []))] })).toMatchObject({
      placed: [{ sessionId: alice }],
    });
    expect((await snapshot()).holds).toEqual([]);
    expect(await rowOf(ledger, alice)).toMatchObject({
      priority: 90,
      decay_tries: 0,
      retry_at: null,
      nearest: null,
      attempt: 1,
    });
  });
  test('is replaced by a new hold, and given up by the plan or with its session', async () => {
    const { alice, bob, plan } = await crowd();
    await commit(ledger, await plan());
    const since = (await snapshot()).holds[0]?.since;
    await commit(ledger, { holds: [await holdOrder(ledger, alice, [bob])] });
    expect((await snapshot()).holds).toMatchObject([{ victims: [bob], since }]);
    await commit(ledger, { droppedHolds: [alice] });
    expect((await snapshot()).holds).toEqual([]);
    await commit(ledger, { holds: [await holdOrder(ledger, alice, [bob])] });
    await ledger.store.sessions.requestStop(stopOf(alice));
    expect((await snapshot()).holds).toEqual([]);
    await commit(ledger, {});
    expect(await query(ledger, 'SELECT 1 FROM room_holds')).toEqual([]);
  });
});
