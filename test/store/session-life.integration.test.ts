import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EndCause } from '../../src/contract/index.js';
import {
  admit,
  exitOf,
  GIB,
  type Ledger,
  nextId,
  openLedger,
  openPass,
  placeAll,
  planAll,
  startSession,
  stopOf,
  submit,
  submitAndAdmit,
  unsound,
} from './ledger.js';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.store.close());

/** Runs it twice: the second answer must be the first. */
async function twice<Result>(work: () => Promise<Result>): Promise<Result> {
  const first = await work();
  expect(await work()).toEqual(first);
  return first;
}

describe('the life of a session, each write run twice', () => {
  test('goes from the submission to its end, holds what it was given, and gives it back', async () => {
    const { store, admin } = ledger;
    const sessionId = await submit(ledger);
    expect(await store.sessions.getSubmitted(sessionId, admin)).toMatchObject({
      state: 'SUBMITTED',
      project: 'default',
    });
    await admit(ledger, sessionId);
    await admit(ledger, sessionId);
    expect(await store.sessions.getSubmitted(sessionId, admin)).toBeNull();
    expect(await store.sessions.get(sessionId, admin)).toMatchObject({ state: 'PENDING', slots: { gpuCount: 1 } });

    expect(await placeAll(store)).toMatchObject({
      outcome: 'committed',
      placed: [{ sessionId, attempt: 1 }],
      dropped: 0,
    });
    expect(await placeAll(store)).toMatchObject({ placed: [] });
    const begun = await twice(() => store.sessions.begin(sessionId, 1));
    expect(begun).toMatchObject({ outcome: 'go', placement: { attempt: 1, nodes: [{ node: 'n1' }] } });
    const kernelId = begun.outcome === 'go' ? begun.placement.nodes[0]?.kernels[0]?.kernelId : undefined;
    if (kernelId === undefined) throw new Error('no kernel');

    const order = await store.nodes.launchOrder('n1', kernelId, 1);
    expect(order?.order).toMatchObject({
      hostname: 'main',
      size: 1,
      devices: [{ id: 'gpu-0' }],
      peers: [{ sameEngine: true }],
    });
    expect(order?.sealedSecrets?.toString()).toBe('sealed');
    const creating = {
      kind: 'progress' as const,
      kernelId,
      attempt: 1,
      phase: 'creating' as const,
      message: 'creating',
    };
    await twice(() => store.nodes.report('n1', [creating]));
    expect((await store.sessions.get(sessionId, admin))?.state).toBe('CREATING');
    await twice(() => store.sessions.markRunning(sessionId, 1));
    expect(await store.nodes.launchOrder('n1', kernelId, 1)).toBeNull();

    const [told] = await twice(() => store.nodes.report('n1', [exitOf(kernelId)]));
    expect(told).toMatchObject({ accepted: true, signal: { kind: 'exited', attempt: 1 } });
    await store.nodes.report('n1', [exitOf(kernelId, { exitCode: 9 })]);
    const end = await twice(() => store.sessions.finish(sessionId, 1, true));
    expect(end).toEqual({
      state: 'TERMINATED',
      result: 'success',
      cause: 'completed',
      message: 'main ended with exit code 0',
      exitCode: 0,
      group: 'default',
      dependents: [],
    });
    const shown = await store.sessions.get(sessionId, admin);
    expect(shown?.kernels[0]).toMatchObject({
      node: 'n1',
      exitCode: 0,
      logTail: 'last line',
      devices: [{ id: 'gpu-0' }],
    });
    const states = (await store.events.ofSession(sessionId, null, 100)).filter((event) => event.kind === 'state');
    expect(states.map((event) => event.to)).toEqual([
      'PENDING',
      'SCHEDULED',
      'PREPARING',
      'CREATING',
      'RUNNING',
      'TERMINATING',
      'TERMINATED',
    ]);
    await placeAll(store);
    expect((await store.planning.snapshot('default'))?.nodes[0]?.used).toEqual({ cpuMilli: 0, memoryBytes: 0 });
    expect(await unsound(store)).toEqual({});
  });
});

type Exit = Parameters<typeof exitOf>[1];
interface EndCase {
  readonly title: string;
  readonly exit?: Exit;
  readonly cause?: EndCause;
  readonly stop?: boolean;
  readonly upTo?: 'PREPARING' | 'RUNNING';
  readonly want: readonly [state: string, result: string, cause: string, exitCode: number | null];
}
const ends: readonly EndCase[] = [
  { title: 'exit 0 is a success', exit: {}, want: ['TERMINATED', 'success', 'completed', 0] },
  { title: 'exit 3 is the user’s failure', exit: { exitCode: 3 }, want: ['TERMINATED', 'failure', 'user-failure', 3] },
  {
    title: 'an exit that was not yet RUNNING did run',
    upTo: 'PREPARING',
    exit: { exitCode: 3 },
    want: ['TERMINATED', 'failure', 'user-failure', 3],
  },
  {
    title: 'out of memory says so',
    exit: { exitCode: 137, oomKilled: true },
    want: ['TERMINATED', 'failure', 'out-of-memory', 137],
  },
  {
    title: 'a lost engine is the platform’s',
    exit: { exitCode: 137, engineLost: true },
    want: ['ERROR', 'platform-failure', 'engine-failed', null],
  },
  { title: 'a stop while it runs', stop: true, want: ['TERMINATED', 'stopped', 'user-stop', null] },
  {
    title: 'a stop while it starts',
    stop: true,
    upTo: 'PREPARING',
    want: ['CANCELLED', 'cancelled', 'user-stop', null],
  },
  { title: 'a bad image', cause: 'bad-image', upTo: 'PREPARING', want: ['ERROR', 'failure', 'bad-image', null] },
  {
    title: 'a failed pull',
    cause: 'pull-failed',
    upTo: 'PREPARING',
    want: ['ERROR', 'platform-failure', 'pull-failed', null],
  },
  {
    title: 'a taken port',
    cause: 'port-taken',
    upTo: 'PREPARING',
    want: ['ERROR', 'platform-failure', 'port-taken', null],
  },
  { title: 'the maximum runtime', cause: 'max-runtime', want: ['TERMINATED', 'failure', 'max-runtime', null] },
];

describe('how a session ends', () => {
  test.each(ends)('$title', async ({ exit, cause, stop, upTo, want }) => {
    const { store } = ledger;
    const { sessionId, kernelId } = await startSession(ledger, { retry: { maxAttempts: 1 } }, upTo ?? 'RUNNING');
    if (exit !== undefined) await store.nodes.report('n1', [exitOf(kernelId, exit)]);
    if (stop === true) await store.sessions.requestStop(stopOf(sessionId));
    await store.sessions.markEnding({ ...stopOf(sessionId), cause: cause ?? 'user-stop', attempt: 1 });
    const end = await twice(() => store.sessions.finish(sessionId, 1, true));
    expect([end.state, end.result, end.cause, end.exitCode]).toEqual(want);
    expect(await unsound(store)).toEqual({});
  });
});

describe('who ends a session of several kernels', () => {
  const workers = (failurePolicy: 'strict' | 'main') => ({
    failurePolicy,
    kernels: [
      { role: 'main', slots: { cpuMilli: 100, memoryBytes: GIB } },
      { role: 'worker', count: 2, slots: { cpuMilli: 100, memoryBytes: GIB } },
    ],
  });
  const cases = [
    { policy: 'strict', rank: 1, exitCode: 0, state: 'RUNNING' },
    { policy: 'strict', rank: 1, exitCode: 1, state: 'TERMINATING' },
    { policy: 'strict', rank: 0, exitCode: 0, state: 'TERMINATING' },
    { policy: 'main', rank: 2, exitCode: 1, state: 'RUNNING' },
    { policy: 'main', rank: 0, exitCode: 1, state: 'TERMINATING' },
  ] as const;
  test.each(cases)('$policy: kernel $rank ends with $exitCode → $state', async ({ policy, rank, exitCode, state }) => {
    const { store, admin } = ledger;
    const { sessionId, kernels } = await startSession(ledger, workers(policy));
    const kernelId = kernels[rank]?.kernelId;
    if (kernelId === undefined) throw new Error('no such kernel');
    await store.nodes.report('n1', [exitOf(kernelId, { exitCode })]);
    expect((await store.sessions.get(sessionId, admin))?.state).toBe(state);
    await store.sessions.markEnding({ ...stopOf(sessionId), attempt: 1 });
    await store.sessions.finish(sessionId, 1, true);
  });
});

describe('a stop', () => {
  test('before the admission makes the row CANCELLED, and no pass takes it', async () => {
    const { store, admin } = ledger;
    const sessionId = await submit(ledger);
    expect(await store.sessions.requestStop(stopOf(sessionId))).toEqual({
      state: 'CANCELLED',
      attempt: 0,
      changed: true,
    });
    expect(await store.sessions.requestStop(stopOf(sessionId))).toMatchObject({ changed: false });
    await admit(ledger, sessionId);
    expect(await store.sessions.get(sessionId, admin)).toMatchObject({ state: 'CANCELLED', result: 'cancelled' });
    expect(await placeAll(store)).toMatchObject({ placed: [], dropped: 0 });
  });
  test('while it waits ends it here, and a plan made before drops it', async () => {
    const { store } = ledger;
    const sessionId = await submitAndAdmit(ledger);
    const pass = await openPass(store);
    const plan = planAll(pass, await pass.nextPage());
    expect(await store.sessions.requestStop(stopOf(sessionId))).toMatchObject({ state: 'CANCELLED', changed: true });
    expect(await store.sessions.requestStop(stopOf(sessionId))).toMatchObject({ state: 'CANCELLED', changed: false });
    expect(await pass.commit(plan)).toMatchObject({ outcome: 'committed', placed: [], dropped: 1 });
    await pass.close();
    const due = async () =>
      (await store.planning.dueSignals({ olderThanMs: 0, limit: 100 })).filter((one) => one.sessionId === sessionId);
    expect(await due()).toEqual([{ sessionId, kind: 'stop', attempt: 0 }]);
    await store.sessions.finish(sessionId, 0, true);
    expect(await due()).toEqual([]);
  });
  test('asked between placed and begun wins over the first step', async () => {
    const { store } = ledger;
    const sessionId = await submitAndAdmit(ledger);
    await placeAll(store);
    await store.sessions.requestStop(stopOf(sessionId));
    expect(await store.sessions.begin(sessionId, 1)).toEqual({ outcome: 'stop' });
    expect(await store.sessions.finish(sessionId, 1, true)).toMatchObject({ state: 'CANCELLED' });
    expect(await store.sessions.begin(sessionId, 1)).toEqual({ outcome: 'stop' });
  });
  test('of what has ended, or never was, changes nothing', async () => {
    const { store } = ledger;
    const { sessionId } = await startSession(ledger);
    await store.sessions.markEnding({ ...stopOf(sessionId), attempt: 1 });
    await store.sessions.finish(sessionId, 1, true);
    expect(await store.sessions.requestStop(stopOf(sessionId))).toMatchObject({ state: 'TERMINATED', changed: false });
    expect(await store.sessions.requestStop(stopOf(nextId('ses')))).toBeNull();
  });
});

describe('a session’s first step', () => {
  test('is taken once by two at the same time, and both get the placement', async () => {
    const { store } = ledger;
    const sessionId = await submitAndAdmit(ledger);
    await placeAll(store);
    const answers = await Promise.all([store.sessions.begin(sessionId, 1), store.sessions.begin(sessionId, 1)]);
    expect(answers.map((answer) => answer.outcome)).toEqual(['go', 'go']);
    expect(await store.sessions.begin(sessionId, 2)).toEqual({ outcome: 'stale' });
    await store.sessions.markRunning(sessionId, 1);
    expect(await store.sessions.begin(sessionId, 1)).toEqual({ outcome: 'stale' });
    const taken = await store.sessions.openPlacement(sessionId);
    expect(taken).toMatchObject({ started: true, placement: { nodes: [{ node: 'n1' }] }, shown: { user: 'admin' } });
    await store.control.endOrphan(sessionId, 'workflow-lost');
    await store.control.endOrphan(sessionId, 'workflow-lost');
    expect(await store.sessions.openPlacement(sessionId)).toBeNull();
    expect(await store.control.endedOrMissing([sessionId, 'ses_x'])).toEqual([sessionId, 'ses_x']);
    expect(await unsound(store)).toEqual({});
  });
  test('of a refused submission is none: the refusal is kept and answered again', async () => {
    const { store, admin } = ledger;
    const sessionId = await submit(ledger);
    const refusal = { code: 'never_fits' as const, detail: 'too large' };
    await store.sessions.recordRefusal(sessionId, refusal);
    await store.sessions.recordRefusal(sessionId, { ...refusal, detail: 'other' });
    expect(await store.sessions.refusalOf(sessionId)).toEqual(refusal);
    expect(await store.sessions.getSubmitted(sessionId, admin)).toBeNull();
  });
});
