import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { groupPolicySchema, type Principal, type SessionId } from '../../src/contract/index.js';
import { type Ledger, openLedger, openPass, startSession, stopOf, submit, submitAndAdmit } from './ledger.js';
import { query } from './upkeep.js';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.store.close());

const contextOf = async (sessionId: SessionId) => {
  const context = await ledger.store.sessions.readAdmission(sessionId);
  if (context === null) throw new Error('no submission');
  return context;
};
const shown = async (sessionId: SessionId) => ledger.store.sessions.get(sessionId, ledger.admin);
const setPolicy = (policy: object) =>
  query(ledger, 'UPDATE resource_groups SET policy = $1', [JSON.stringify(groupPolicySchema.parse(policy))]);

describe('what a request depends on', () => {
  test('is found by id, or by name among the sessions that its user may see: the open one first', async () => {
    const { store, admin } = ledger;
    const old = await submitAndAdmit(ledger, { name: 'first' });
    await store.sessions.requestStop(stopOf(old));
    const open = await submitAndAdmit(ledger, { name: 'first' });
    const dependsOn = [{ session: 'first' }, { session: old, onFailure: 'ignore' as const }, { session: 'nobody' }];
    const { dependencies } = await contextOf(await submit(ledger, { dependsOn }));
    expect(dependencies).toEqual([
      { asked: 'first', found: { sessionId: open, name: 'first', state: 'open', onFailure: 'cancel' } },
      { asked: old, found: { sessionId: old, name: 'first', state: 'failed', onFailure: 'ignore' } },
      { asked: 'nobody', found: null },
    ]);
    const stranger: Principal = { ...admin, role: 'user', userId: 'usr_x' as Principal['userId'], projects: [] };
    const hidden = await contextOf(await submit(ledger, { dependsOn }, stranger));
    expect(hidden.dependencies.map(({ found }) => found)).toEqual([null, null, null]);
    await store.sessions.requestStop(stopOf(open));
  });

  test('is kept once for each session, by the stricter wish, and is in the snapshot while it waits', async () => {
    const { store } = ledger;
    const upstream = await submitAndAdmit(ledger, { name: 'up' });
    const dependsOn = [{ session: 'up' }, { session: upstream, onFailure: 'fail' as const }];
    const waiting = await submitAndAdmit(ledger, { dependsOn });
    expect((await shown(waiting))?.dependsOn).toEqual([
      { sessionId: upstream, name: 'up', state: 'PENDING', onFailure: 'fail' },
    ]);
    const pass = await openPass(store);
    const pending = (await pass.nextPage()).find((one) => one.id === waiting);
    await pass.close();
    expect(pending?.dependsOn).toEqual([{ sessionId: upstream, name: 'up', state: 'open', onFailure: 'fail' }]);
    for (const id of [upstream, waiting]) await store.sessions.requestStop(stopOf(id));
  });
});

describe('what a request wishes', () => {
  test('is kept as it was asked, and a preview says what would be', async () => {
    const { store } = ledger;
    const startsAt = '2031-01-01T00:00:00.000Z';
    const request = {
      startsAt,
      resumable: true,
      preemptible: false,
      minRuntimeSeconds: 60,
      retry: { maxAttempts: 7 },
      placement: { nodes: ['n1'], nodesRequired: true },
    };
    const id = await submit(ledger, request);
    const context = await contextOf(id);
    const preview = await store.sessions.previewAdmission(context.submission);
    expect(preview).toEqual(context);
    const wished = { startsAt, preemptible: false, wishes: { nodes: ['n1'], nodesRequired: true } };
    expect(store.sessions.candidate(context.submission, preview)).toMatchObject({ ...wished, minRuntimeSeconds: 60 });
    const waiting = await submitAndAdmit(ledger, request);
    expect(await shown(waiting)).toMatchObject({
      startsAt,
      resumable: true,
      preemptible: false,
      maxAttempts: 7,
      basePriority: 10,
      protectedUntil: null,
    });
    await store.sessions.requestStop(stopOf(waiting));
  });

  test('may be stopped for others unless it serves, or belongs to the platform', async () => {
    for (const [kind, want] of Object.entries({ batch: true, interactive: true, inference: false, system: false })) {
      const id = await submitAndAdmit(ledger, { kind: kind as 'batch' });
      expect((await shown(id))?.preemptible).toBe(want);
      await ledger.store.sessions.requestStop(stopOf(id));
    }
  });
});

describe('the group’s policy', () => {
  test('gives its maximum runtime to a request of that kind without one, and tells who waits where that counts', async () => {
    const { store } = ledger;
    await setPolicy({ maxRuntimeSeconds: { batch: 120 }, maxPendingSessions: 5 });
    const waiting = await submitAndAdmit(ledger);
    const context = await contextOf(await submit(ledger));
    expect(context.group).toMatchObject({ waiting: 1, policy: { maxPendingSessions: 5 } });
    expect(store.sessions.candidate(context.submission, context).maxRuntimeSeconds).toBe(120);
    expect((await shown(waiting))?.maxRuntimeSeconds).toBe(120);
    const own = await submitAndAdmit(ledger, { maxRuntimeSeconds: 60 });
    expect((await shown(own))?.maxRuntimeSeconds).toBe(60);
    const free = await submitAndAdmit(ledger, { kind: 'interactive' });
    expect((await shown(free))?.maxRuntimeSeconds).toBeNull();
    for (const id of [waiting, own, free]) await store.sessions.requestStop(stopOf(id));
    const running = await startSession(ledger);
    expect(await store.sessions.openPlacement(running.sessionId)).toMatchObject({ started: true });
    expect((await store.sessions.openPlacement(running.sessionId))?.placement.maxRuntimeMs).toBeLessThanOrEqual(
      120_000,
    );
    await setPolicy({});
  });
});
