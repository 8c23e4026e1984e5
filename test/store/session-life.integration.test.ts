import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  admit,
  exitOf,
  type Ledger,
  openLedger,
  placeAll,
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
    expect(end).toEqual({ state: 'TERMINATED', result: 'success', cause: 'completed', exitCode: 0, group: 'default' });
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
