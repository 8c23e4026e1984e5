import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EndCause, SessionId } from '../../src/contract/index.js';
import {
  exitOf,
  GIB,
  joinNode,
  type Ledger,
  openLedger,
  openPass,
  placeAll,
  planAll,
  startSession,
  stopOf,
  submitAndAdmit,
  unsound,
} from './ledger.js';
import { charges, preempt, query, rowOf, runAgain, twice } from './upkeep.js';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger({ gpus: 8 });
  await joinNode(ledger.store, 'n2', 8);
});
afterAll(() => ledger.store.close());

const same = (one: unknown, other: unknown): void => expect(one).toEqual(other);
const end = (sessionId: SessionId, attempt = 1) =>
  twice(() => ledger.store.sessions.finish(sessionId, attempt, true), same);
const fail = (sessionId: SessionId, cause: EndCause, { attempt = 1, node = 'n1' } = {}) =>
  ledger.store.sessions.markEnding({ ...stopOf(sessionId), cause, message: 'it broke', attempt, node });
const shown = async (sessionId: SessionId) => {
  const session = await ledger.store.sessions.get(sessionId, ledger.admin);
  if (session === null) throw new Error('not shown');
  return session;
};
const states = async (sessionId: SessionId): Promise<string[]> =>
  (await ledger.store.events.ofSession(sessionId, null, 100))
    .filter((event) => event.kind === 'state')
    .map((event) => `${event.to} ${event.cause} ${event.attempt}`);
/** The main kernel on n1, the other on n2. */
async function placeApart(sessionId: SessionId): Promise<void> {
  const pass = await openPass(ledger.store);
  const plan = planAll(
    pass,
    (await pass.nextPage()).filter((one) => one.id === sessionId),
  );
  const placed = plan.placed.map((one) => ({
    ...one,
    kernels: one.kernels.map((kernel, rank) => ({ ...kernel, node: rank === 0 ? 'n1' : 'n2' })),
  }));
  expect(await pass.commit({ ...plan, placed })).toMatchObject({ dropped: 0 });
  await pass.close();
}
const cancel = (sessionId: SessionId) => ledger.store.sessions.requestStop(stopOf(sessionId));

describe('a preempted session', () => {
  test('waits again with its id and place, is told its attempt, and gives its room back', async () => {
    const { store } = ledger;
    const { sessionId, kernelId } = await startSession(ledger, { priority: 30, minRuntimeSeconds: 60 });
    const before = await shown(sessionId);
    expect(Date.parse(before.protectedUntil ?? '') - Date.parse(before.startedAt ?? '')).toBe(60_000);
    await query(ledger, 'UPDATE sessions SET priority = 10, decay_tries = 2 WHERE id = $1', [sessionId]);
    await preempt(ledger, sessionId);
    expect(await store.planning.dueSignals({ olderThanMs: 0, limit: 9 })).toMatchObject([{ kind: 'preempt' }]);
    const notice = await store.sessions.beginNotice(sessionId, 1);
    expect(notice).toMatchObject({ cause: 'preempted' });
    expect((notice as { graceMs: number }).graceMs).toBeGreaterThan(9000);
    const again = (await store.sessions.beginNotice(sessionId, 1)) as { graceMs: number };
    expect(again.graceMs).toBeLessThanOrEqual((notice as { graceMs: number }).graceMs);
    expect(await store.planning.dueSignals({ olderThanMs: 0, limit: 9 })).toEqual([]);
    const exit = () => store.nodes.report('n1', [exitOf(kernelId, { exitCode: 137 })]);
    expect(await twice(exit, same)).toMatchObject([{ signal: { kind: 'exited' } }]);

    expect(await end(sessionId)).toMatchObject({
      state: 'PENDING',
      result: 'none',
      cause: 'preempted',
      exitCode: null,
    });
    const after = await shown(sessionId);
    expect(after).toMatchObject({
      state: 'PENDING',
      attempt: 1,
      priority: 30,
      submittedAt: before.submittedAt,
      startedAt: null,
      placedAt: null,
      cause: null,
      reason: 'awaiting_pass',
    });
    expect(after.kernels).toMatchObject([{ node: null, devices: [], exitCode: null, logTail: null }]);
    expect(await charges(ledger, sessionId)).toEqual([[1, true]]);
    expect(await unsound(store)).toEqual({});

    await runAgain(ledger, sessionId, 2);
    expect(await store.sessions.finish(sessionId, 1, true)).toMatchObject({ state: 'RUNNING' });
    expect(await store.sessions.beginNotice(sessionId, 1)).toBe('stop');
    expect(await store.sessions.beginNotice(sessionId, 2)).toBe('stale');
    expect(await states(sessionId)).toEqual([
      'PENDING admitted 0',
      'SCHEDULED placed 1',
      'PREPARING begun 1',
      'RUNNING started 1',
      'PREEMPTING preempted 1',
      'PENDING preempted 1',
      'SCHEDULED placed 2',
      'PREPARING begun 2',
      'RUNNING started 2',
    ]);
    await store.nodes.report('n1', [{ ...exitOf(kernelId), attempt: 2 }]);
    expect(await end(sessionId, 2)).toMatchObject({ state: 'TERMINATED', result: 'success', exitCode: 0 });
    expect(await unsound(store)).toEqual({});
  });

  test('ends where its order says so, truthfully', async () => {
    const { sessionId } = await startSession(ledger);
    await preempt(ledger, sessionId, { then: 'end', cause: 'drained' });
    expect(await end(sessionId)).toMatchObject({ state: 'TERMINATED', result: 'stopped', cause: 'drained' });
  });

  test('that exited 0 before it was told was done', async () => {
    const { sessionId, kernelId } = await startSession(ledger);
    await preempt(ledger, sessionId);
    await ledger.store.nodes.report('n1', [exitOf(kernelId)]);
    expect(await ledger.store.sessions.beginNotice(sessionId, 1)).toBe('stop');
    expect(await end(sessionId)).toMatchObject({
      state: 'TERMINATED',
      result: 'success',
      cause: 'completed',
      exitCode: 0,
    });
  });

  test('that exits 0 once it was told waits again: it saved its work and is not done', async () => {
    const { sessionId, kernelId } = await startSession(ledger);
    await preempt(ledger, sessionId);
    expect(await ledger.store.sessions.beginNotice(sessionId, 1)).toMatchObject({ cause: 'preempted' });
    await ledger.store.nodes.report('n1', [exitOf(kernelId)]);
    expect(await end(sessionId)).toMatchObject({ state: 'PENDING', cause: 'preempted' });
    await cancel(sessionId);
  });

  test('is not charged when its minimum runtime was broken', async () => {
    const { sessionId } = await startSession(ledger, { minRuntimeSeconds: 3600 });
    await preempt(ledger, sessionId, { cause: 'drained', breaksMinRuntime: true });
    expect(await end(sessionId)).toMatchObject({ state: 'PENDING', cause: 'drained' });
    expect(await charges(ledger, sessionId)).toEqual([[1, false]]);
    await cancel(sessionId);
  });

  test('that still starts leaves too, at the deadline of a drain: it runs no more, and waits again', async () => {
    const { store } = ledger;
    const { sessionId } = await startSession(ledger, {}, 'PREPARING');
    await preempt(ledger, sessionId, { cause: 'drained', breaksMinRuntime: true });
    expect(await store.sessions.begin(sessionId, 1)).toEqual({ outcome: 'stop' });
    expect(await store.sessions.markRunning(sessionId, 1)).toEqual({ outcome: 'ending' });
    expect(await store.sessions.beginNotice(sessionId, 1)).toMatchObject({ cause: 'drained' });
    expect(await end(sessionId)).toMatchObject({ state: 'PENDING', cause: 'drained' });
    expect((await states(sessionId)).slice(-2)).toEqual(['PREEMPTING drained 1', 'PENDING drained 1']);
    expect(await unsound(store)).toEqual({});
    await cancel(sessionId);
  });

  test('waits again also when its node is lost meanwhile, and uses up no retry', async () => {
    const { store } = ledger;
    const { sessionId } = await startSession(ledger);
    await preempt(ledger, sessionId);
    expect(await fail(sessionId, 'node-lost')).toMatchObject({ state: 'PREEMPTING', changed: false });
    expect(await end(sessionId)).toMatchObject({ state: 'PENDING', cause: 'preempted' });
    expect(await rowOf(ledger, sessionId)).toMatchObject({ failed_attempts: 0, avoid_nodes: [] });
    expect(await unsound(store)).toEqual({});
    await cancel(sessionId);
  });

  test('ends by its maximum runtime when that comes within its grace', async () => {
    const { sessionId } = await startSession(ledger);
    await preempt(ledger, sessionId);
    await fail(sessionId, 'max-runtime');
    expect(await end(sessionId)).toMatchObject({ state: 'TERMINATED', cause: 'max-runtime' });
  });
});

describe('a stop by the user', () => {
  test('during a preemption wins: it ends, and its workflow is told', async () => {
    const { store } = ledger;
    const { sessionId } = await startSession(ledger);
    await preempt(ledger, sessionId);
    expect(await cancel(sessionId)).toMatchObject({ state: 'TERMINATING', changed: true });
    expect(await cancel(sessionId)).toMatchObject({ changed: false });
    expect(await store.sessions.beginNotice(sessionId, 1)).toBe('stop');
    expect(await store.planning.dueSignals({ olderThanMs: 0, limit: 9 })).toContainEqual({
      kind: 'stop',
      sessionId,
      attempt: 1,
    });
    expect(await end(sessionId)).toMatchObject({ state: 'TERMINATED', result: 'stopped', cause: 'user-stop' });
  });
  test('raced with a preemption ends it, whoever was first', async () => {
    for (let round = 0; round < 4; round += 1) {
      const { sessionId } = await startSession(ledger);
      await Promise.allSettled([preempt(ledger, sessionId), cancel(sessionId)]);
      expect(await end(sessionId)).toMatchObject({ state: 'TERMINATED', cause: 'user-stop' });
    }
    expect(await unsound(ledger.store)).toEqual({});
  });
  test('raced with its return to the queue ends it or cancels it, and nothing runs', async () => {
    const { store } = ledger;
    for (let round = 0; round < 6; round += 1) {
      const { sessionId } = await startSession(ledger);
      await preempt(ledger, sessionId);
      const [finished] = await Promise.all([store.sessions.finish(sessionId, 1, true), cancel(sessionId)]);
      const { state, cause } = await shown(sessionId);
      expect([finished.state, state, cause]).toEqual(
        finished.state === 'PENDING'
          ? ['PENDING', 'CANCELLED', 'user-stop']
          : ['TERMINATED', 'TERMINATED', 'user-stop'],
      );
    }
    expect(await placeAll(store)).toMatchObject({ placed: [] });
    expect(await unsound(store)).toEqual({});
  });
  test('after the platform failed it keeps it from another try', async () => {
    const { sessionId } = await startSession(ledger);
    await fail(sessionId, 'engine-failed');
    await cancel(sessionId);
    expect(await end(sessionId)).toMatchObject({ state: 'ERROR', cause: 'engine-failed' });
  });
});

describe('a failure of the platform', () => {
  test('is tried again after its back-off, elsewhere, at no charge, until the tries are used up', async () => {
    const { store } = ledger;
    const request = { retry: { maxAttempts: 2, backoffSeconds: 60 } };
    const { sessionId } = await startSession(ledger, request, 'PREPARING');
    await fail(sessionId, 'pull-failed');
    const back = await end(sessionId);
    expect(back).toMatchObject({ state: 'PENDING', result: 'none', cause: 'pull-failed' });
    expect(back.message).toBe('failure 1 of 2 on n1: it broke; tried again in 60 s');
    const session = await shown(sessionId);
    expect(session).toMatchObject({ state: 'PENDING', reason: 'backoff', attempt: 1, maxAttempts: 2 });
    expect(Date.parse(session.retryAt ?? '')).toBeGreaterThan(Date.now() + 50_000);
    expect(await rowOf(ledger, sessionId)).toMatchObject({ avoid_nodes: ['n1'], failed_attempts: 1 });
    expect(await charges(ledger, sessionId)).toEqual([[1, false]]);
    const told = (await store.events.ofSession(sessionId, null, 100)).at(-1);
    expect(told).toMatchObject({
      to: 'PENDING',
      cause: 'pull-failed',
      attempt: 1,
      data: { failedNode: 'n1', charged: false },
    });

    await placeAll(store, 'n2');
    await store.sessions.begin(sessionId, 2);
    expect(await fail(sessionId, 'pull-failed', { attempt: 1 })).toMatchObject({ changed: false });
    await fail(sessionId, 'engine-failed', { attempt: 2, node: 'n2' });
    expect(await end(sessionId, 2)).toMatchObject({
      state: 'ERROR',
      result: 'platform-failure',
      cause: 'engine-failed',
    });
    expect(await charges(ledger, sessionId)).toEqual([
      [1, false],
      [2, false],
    ]);
    expect(await unsound(store)).toEqual({});
  });

  test('late for an attempt that is over changes nothing', async () => {
    const { store } = ledger;
    const { sessionId } = await startSession(ledger);
    await fail(sessionId, 'engine-failed');
    await end(sessionId);
    for (const cause of ['max-runtime', 'node-lost'] as const) {
      expect(await fail(sessionId, cause)).toMatchObject({ state: 'PENDING', changed: false });
    }
    await runAgain(ledger, sessionId, 2, 'n2');
    const { version } = await rowOf(ledger, sessionId);
    expect(await store.sessions.finish(sessionId, 1, true)).toMatchObject({ state: 'RUNNING' });
    expect((await rowOf(ledger, sessionId)).version).toBe(version);
    await fail(sessionId, 'max-runtime', { attempt: 2 });
    await end(sessionId, 2);
  });

  test('of one node of a gang blames that node; where none is known, all', async () => {
    const { store } = ledger;
    const slots = { cpuMilli: 100, memoryBytes: GIB };
    const kernels = [
      { role: 'main', slots },
      { role: 'worker', slots },
    ];
    const sessionId = await submitAndAdmit(ledger, { clusterMode: 'multi-node', kernels });
    for (const [attempt, node] of [[1, 'n2'] as const, [2, undefined] as const]) {
      await placeApart(sessionId);
      await store.sessions.begin(sessionId, attempt);
      await store.sessions.markEnding({ ...stopOf(sessionId), cause: 'start-deadline', attempt, node });
      await end(sessionId, attempt);
      expect((await rowOf(ledger, sessionId)).avoid_nodes).toEqual(node === undefined ? ['n2', 'n1'] : [node]);
    }
    await cancel(sessionId);
    expect(await unsound(store)).toEqual({});
  });

  test('of a dead node leaves only that attempt’s cleaning to the node', async () => {
    const { store } = ledger;
    const { sessionId } = await startSession(ledger);
    await fail(sessionId, 'node-lost');
    expect(await store.sessions.finish(sessionId, 1, false)).toMatchObject({ state: 'PENDING', cause: 'node-lost' });
    await runAgain(ledger, sessionId, 2, 'n2');
    await cancel(sessionId);
    await end(sessionId, 2);
    const owed = await query(ledger, 'SELECT attempt FROM reservations WHERE session_id = $1 AND NOT node_released', [
      sessionId,
    ]);
    expect(owed).toEqual([{ attempt: 1 }]);
  });
});

describe('who waits for a session', () => {
  test('is named by its groups when it ends, each time it is asked', async () => {
    const { store } = ledger;
    const { sessionId, kernelId } = await startSession(ledger, { name: 'upstream' });
    const waiting = await submitAndAdmit(ledger, { dependsOn: [{ session: 'upstream', onFailure: 'ignore' }] });
    expect((await shown(waiting)).dependsOn).toEqual([
      { sessionId, name: 'upstream', state: 'RUNNING', onFailure: 'ignore' },
    ]);
    await store.nodes.report('n1', [exitOf(kernelId)]);
    expect(await end(sessionId)).toMatchObject({ dependents: ['default'] });
    await cancel(waiting);
    expect(await store.sessions.finish(sessionId, 1, true)).toMatchObject({ dependents: [] });
    const upstream = await submitAndAdmit(ledger);
    const behind = await submitAndAdmit(ledger, { dependsOn: [{ session: upstream }] });
    await cancel(upstream);
    expect(await end(upstream, 0)).toMatchObject({ state: 'CANCELLED', dependents: ['default'] });
    await cancel(behind);
  });
});
