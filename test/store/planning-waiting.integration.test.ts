import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Waiting } from '../../src/contract/index.js';
import { exitOf, GIB, type Ledger, openLedger, openPass, startSession, stopOf, submitAndAdmit } from './ledger.js';
import { commit, endOrder, waitingOf } from './plans.js';
import { query, rowOf } from './upkeep.js';

let ledger: Ledger;
beforeEach(async () => {
  ledger = await openLedger({ gpus: 1 });
});
afterEach(() => ledger.store.close());

const LATER = '2100-01-01T00:00:00.000Z';
const snapshot = async () => {
  const found = await ledger.store.planning.snapshot('default');
  if (found === null) throw new Error('no group');
  return found;
};

describe('the snapshot', () => {
  test('carries all that was wished, and how what it waits for stands', async () => {
    const good = await startSession(ledger, { name: 'good' });
    await ledger.store.nodes.report('n1', [exitOf(good.kernelId)]);
    await ledger.store.sessions.finish(good.sessionId, 1, true);
    const bad = await submitAndAdmit(ledger, { name: 'bad' });
    const open = await submitAndAdmit(ledger, { name: 'open', priority: 90 });
    await ledger.store.sessions.requestStop(stopOf(bad));
    const id = await submitAndAdmit(ledger, {
      startsAt: LATER,
      minRuntimeSeconds: 60,
      maxRuntimeSeconds: 120.5,
      gracePeriodSeconds: 3,
      kind: 'inference',
      dependsOn: [
        { session: good.sessionId },
        { session: bad, onFailure: 'fail' },
        { session: open, onFailure: 'ignore' },
      ],
      placement: { nodes: ['n1'], nodesRequired: true, zone: 'a', spread: 'pack', replicaGroup: 'g' },
    });
    await query(
      ledger,
      `UPDATE sessions SET avoid_nodes = '["n9"]', decay_tries = 2, blocked_since = $2 WHERE id = $1`,
      [id, LATER],
    );
    const pass = await openPass(ledger.store);
    expect(pass.flags).toEqual({
      hasHolds: false,
      hasDrains: false,
      hasFailedDependencies: true,
      hasReplicaGroups: true,
      hasMounts: false,
    });
    await pass.close();
    expect((await snapshot()).pending.find((one) => one.id === id)).toMatchObject({
      kind: 'inference',
      attempt: 0,
      minRuntimeSeconds: 60,
      maxRuntimeSeconds: 120.5,
      gracePeriodSeconds: 3,
      preemptible: false,
      startsAt: LATER,
      retryAt: null,
      avoid: ['n9'],
      image: 'python:3.12',
      folders: [],
      wishes: { nodes: ['n1'], nodesRequired: true, zone: 'a', zoneRequired: false, spread: 'pack', replicaGroup: 'g' },
      decay: { tries: 2, countedAt: null, blockedSince: LATER },
      dependsOn: expect.arrayContaining([
        { sessionId: good.sessionId, name: 'good', state: 'succeeded', onFailure: 'cancel' },
        { sessionId: bad, name: 'bad', state: 'failed', onFailure: 'fail' },
        { sessionId: open, name: 'open', state: 'open', onFailure: 'ignore' },
      ]),
    });
  });
  test('of a pass reads who runs where the policy has a use for it, and guarantees with their project', async () => {
    const { sessionId } = await startSession(ledger);
    const runningOfPass = async () => {
      const pass = await openPass(ledger.store);
      await pass.close();
      return pass.base.running.map((one) => one.id);
    };
    expect(await runningOfPass()).toEqual([]);
    const patch = (policy: object) => ledger.store.settings.patchGroup('default', { policy, ifMatch: null });
    await patch({ backfill: 'easy' });
    expect(await runningOfPass()).toEqual([sessionId]);
    await patch({ backfill: 'none', guarantees: [{ project: 'default/default', gpuCount: 2, returnSeconds: 9 }] });
    expect(await runningOfPass()).toEqual([sessionId]);
    expect((await snapshot()).guarantees).toMatchObject([
      { project: 'default/default', projectId: expect.stringMatching(/^prj_/), gpuCount: 2 },
    ]);
    const kind = 'inference';
    await patch({
      guarantees: [
        { kind, gpuCount: 1, returnSeconds: 9 },
        { kind, project: 'default/default', gpuCount: 2, returnSeconds: 9 },
      ],
    });
    expect((await snapshot()).guarantees).toMatchObject([
      { kind, project: '', projectId: '', gpuCount: 1 },
      { kind, project: 'default/default', projectId: expect.stringMatching(/^prj_/), gpuCount: 2 },
    ]);
    expect(await patch({ guarantees: [{ project: 'default/nobody', gpuCount: 2, returnSeconds: 9 }] })).toBe(
      'no-guaranteed-project',
    );
  });
});

describe('a policy', () => {
  test('that was stored before a field was known has its default, and a patch leaves what it does not name', async () => {
    await query(ledger, `UPDATE resource_groups SET policy = '{"placement": "concentrated", "decay": {"by": "time"}}'`);
    const patched = await ledger.store.settings.patchGroup('default', {
      policy: { preemption: { enabled: true }, decay: { step: 3 }, backfill: undefined },
      ifMatch: null,
    });
    expect(patched).toMatchObject({
      policy: {
        placement: 'concentrated',
        backfill: 'none',
        decay: { by: 'time', after: 5, afterSeconds: 600, step: 3 },
        preemption: { enabled: true, mode: 'requeue', scope: 'user', order: 'newest' },
      },
    });
    expect((await snapshot()).group.policy).toEqual(
      patched === 'missing' ? null : (patched as { policy: unknown }).policy,
    );
  });
});

describe('a plan that ends who waits', () => {
  test('ends the row with its cause, tells its workflow until it is settled, and who depends on it is looked at', async () => {
    const upstream = await submitAndAdmit(ledger);
    const behind = await submitAndAdmit(ledger, { dependsOn: [{ session: upstream }] });
    const end = await endOrder(ledger, upstream);
    const signals = [{ sessionId: upstream, kind: 'stop', attempt: 0 }];
    expect(await commit(ledger, { ends: [end] })).toMatchObject({ signals, kicks: ['default'], dropped: 0 });
    const shown = await ledger.store.sessions.get(upstream, ledger.admin);
    expect(shown).toMatchObject({
      state: 'CANCELLED',
      result: 'cancelled',
      cause: 'max-wait',
      message: 'it waited for too long',
    });
    expect(await commit(ledger, { ends: [end] })).toMatchObject({ signals: [], kicks: [], dropped: 1 });
    const failed = await endOrder(ledger, behind, { state: 'ERROR', cause: 'dependency-failed' });
    await commit(ledger, { ends: [failed] });
    expect(await ledger.store.sessions.get(behind, ledger.admin)).toMatchObject({
      state: 'ERROR',
      result: 'failure',
      cause: 'dependency-failed',
    });
    const due = () => ledger.store.planning.dueSignals({ olderThanMs: 0, limit: 10 });
    expect(await due()).toHaveLength(2);
    for (const id of [upstream, behind]) await ledger.store.sessions.finish(id, 0, true);
    expect(await due()).toEqual([]);
  });
  test('leaves one alone that was cancelled first', async () => {
    const id = await submitAndAdmit(ledger);
    const end = await endOrder(ledger, id, { state: 'ERROR', cause: 'dependency-failed' });
    expect(await commit(ledger, { ends: [end] }, () => ledger.store.sessions.requestStop(stopOf(id)))).toMatchObject({
      signals: [],
      dropped: 1,
    });
    expect(await ledger.store.sessions.get(id, ledger.admin)).toMatchObject({ state: 'CANCELLED', cause: 'user-stop' });
  });
});

describe('what a pass tells who waits', () => {
  const nearest = { node: 'n1', lacks: [{ slot: 'gpuCount' as const, need: 1, free: 0 }] };
  const expectedStart = { at: LATER, basis: 'bob ends by then' };
  const xmin = async (id: string) =>
    (await query<{ changed_xid: string }>(ledger, 'SELECT changed_xid FROM sessions WHERE id = $1', [id]))[0];

  test('is its start, reserved nodes and nearest fit, written only where they changed', async () => {
    const id = await submitAndAdmit(ledger, { name: 'alice' });
    const tell = async (change: Partial<Waiting> = {}) => {
      const waiting = await waitingOf(ledger, id, { nearest, expectedStart, ...change });
      const kernel = (await snapshot()).pending[0]?.kernels[0];
      if (kernel === undefined) throw new Error('nobody waits');
      const room = { kernelId: kernel.id, slots: kernel.slots, node: 'n1', deviceIds: ['gpu-0'] };
      const reservations = [{ sessionId: id, at: LATER, until: null, basis: '', kernels: [room] }];
      await commit(ledger, { waiting: [waiting], reservations });
    };
    await tell();
    expect(await ledger.store.planning.why(id)).toMatchObject({
      reason: 'insufficient_capacity',
      nearest,
      reservedNodes: ['n1'],
      eta: { p50: LATER, p90: LATER, basis: 'bob ends by then' },
      etaUnknownBecause: null,
      actions: expect.arrayContaining([{ title: expect.any(String), command: 'berth node show n1' }]),
    });
    expect((await ledger.store.planning.queue('default', { limit: 5 }))?.items).toMatchObject([
      { expectedStart, reservedNodes: ['n1'], gpusAhead: 0 },
    ]);
    const before = await xmin(id);
    await tell();
    await tell({ expectedStart: { ...expectedStart, at: '2100-01-01T00:00:00.400Z' } });
    expect(await xmin(id)).toEqual(before);
    await tell({ expectedStart: { at: null, basis: 'bob has no bound' } });
    expect(await ledger.store.planning.why(id)).toMatchObject({ eta: null, etaUnknownBecause: 'bob has no bound' });
  });

  test('decays the priority of the row it saw, says so, and is the same when it is run again', async () => {
    const id = await submitAndAdmit(ledger, { priority: 30 });
    const decay = { tries: 0, countedAt: LATER, blockedSince: LATER, priority: 20 };
    const waiting = [await waitingOf(ledger, id, { decay })];
    await commit(ledger, { waiting });
    await commit(ledger, { waiting });
    expect(await rowOf(ledger, id)).toMatchObject({ priority: 20, base_priority: 30, queue_rank: -20, decay_tries: 0 });
    const notes = (await ledger.store.events.ofSession(id, null, 50)).filter((event) => event.cause === 'decay');
    expect(notes).toMatchObject([{ kind: 'note', from: '30', to: '20' }]);
    const stale = [await waitingOf(ledger, id, { version: 99, decay: { ...decay, priority: 0 } })];
    await commit(ledger, { waiting: stale });
    expect(await rowOf(ledger, id)).toMatchObject({ priority: 20 });
  });

  test('is by precedence what holds it, also behind the blocker and before any pass came to it', async () => {
    const head = await submitAndAdmit(ledger, { name: 'head', priority: 90 });
    const timed = await submitAndAdmit(ledger, { startsAt: LATER, dependsOn: [{ session: head }] });
    const waits = await submitAndAdmit(ledger, { dependsOn: [{ session: head }] });
    const plain = await submitAndAdmit(ledger, {
      kernels: [{ role: 'main', slots: { cpuMilli: 1, memoryBytes: GIB } }],
    });
    await commit(ledger, { waiting: [await waitingOf(ledger, head)], blockedBy: head });
    await query(
      ledger,
      "UPDATE sessions SET retry_at = now() + interval '1 hour', reason = 'backoff', message = 'failure 1 of 3' WHERE id = $1",
      [plain],
    );
    const reason = async (id: typeof head) => {
      const found = await ledger.store.planning.why(id);
      return [found?.reason, found?.class, found?.blockers.map((blocker) => blocker.name)];
    };
    expect(await reason(timed)).toEqual(['scheduled_start', 'hold', []]);
    expect(await reason(waits)).toEqual(['dependency_pending', 'hold', [head]]);
    expect(await ledger.store.planning.why(plain)).toMatchObject({
      reason: 'backoff',
      class: 'retrying',
      message: 'failure 1 of 3',
    });
    await ledger.store.settings.patchGroup('default', { policy: { paused: true }, ifMatch: null });
    expect(await reason(plain)).toEqual(['queue_paused', 'hold', ['default']]);
    expect(await reason(waits)).toEqual(['dependency_pending', 'hold', [head]]);
    await ledger.store.settings.patchGroup('default', { policy: { paused: false }, ifMatch: null });
    await query(ledger, 'UPDATE sessions SET retry_at = now()');
    expect(await reason(plain)).toEqual(['behind_in_queue', 'wait', [head]]);
    await ledger.store.sessions.requestStop(stopOf(head));
    expect(await reason(plain)).toEqual(['awaiting_pass', 'wait', []]);
  });
});
