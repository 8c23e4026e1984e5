import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Ledger, nodeFacts, openLedger, startSession, stopOf, submitAndAdmit, unsound } from './ledger.js';
import { preempt, query } from './upkeep.js';

let ledger: Ledger;
beforeEach(async () => {
  ledger = await openLedger();
});
afterEach(() => ledger.store.close());

const broken: readonly [invariant: string, statement: string][] = [
  [
    'roomKeptForNobody',
    "INSERT INTO room_holds (session_id, group_name, victims, kernels) SELECT id, 'default', '[]', '[]' FROM sessions",
  ],
  ['preemptingWithoutOrder', "UPDATE sessions SET state = 'PREEMPTING'"],
  [
    'waitingWithAnEnd',
    "UPDATE reservations SET released_at = now(); UPDATE device_holds SET released_at = now(); UPDATE sessions SET state = 'PENDING'",
  ],
  ['drainedButHeld', 'UPDATE nodes SET drain_since = now(), drained_at = now()'],
  [
    'reservationsWithOtherDevices',
    'UPDATE device_holds SET memory_bytes = 1; UPDATE device_use SET whole = 0, shares = 1, shared_bytes = 1',
  ],
  ['deviceUseDiffersFromHolds', 'UPDATE device_use SET whole = 0'],
  ['nodesInOtherState', "ALTER TABLE nodes DISABLE TRIGGER nodes_state; UPDATE nodes SET state = 'CORDONED'"],
];

describe('the audit of the ledger', () => {
  test.each(broken)('counts %s, and nothing else', async (invariant, statement) => {
    await startSession(ledger);
    expect(await unsound(ledger.store)).toEqual({});
    await query(ledger, statement);
    expect(await unsound(ledger.store)).toEqual({ [invariant]: 1 });
  });
});

describe('metrics', () => {
  test('tell who is preempted, who backs off, and which devices are broken', async () => {
    const { store } = ledger;
    const leaving = await startSession(ledger);
    await preempt(ledger, leaving.sessionId);
    const failing = await startSession(ledger, {}, 'PREPARING');
    await store.sessions.markEnding({ ...stopOf(failing.sessionId), cause: 'pull-failed', attempt: 1, node: 'n1' });
    await store.sessions.finish(failing.sessionId, 1, true);
    await submitAndAdmit(ledger);
    const [first, ...others] = nodeFacts().devices;
    if (first === undefined) throw new Error('no device');
    await store.nodes.register('n1', nodeFacts(4, { devices: [{ ...first, healthy: false }, ...others] }));
    const told = (await store.control.metrics()).map(({ name, labels, value }) => [name, labels, value]);
    expect(told).toContainEqual(['sessions', { group: 'default', state: 'PREEMPTING' }, 1]);
    expect(told).toContainEqual(['sessions_preempting', { group: 'default', cause: 'preempted' }, 1]);
    expect(told).toContainEqual(['sessions_backing_off', { group: 'default' }, 1]);
    expect(told).toContainEqual(['sessions_waiting', { group: 'default', reason: 'awaiting_pass' }, 1]);
    expect(told).toContainEqual(['gpus_unhealthy', { group: 'default' }, 1]);
    const open = await store.control.openSessions(null, 10);
    expect(open.map(({ state, attempt }) => `${state} ${attempt}`).toSorted()).toEqual([
      'PENDING 0',
      'PENDING 1',
      'PREEMPTING 1',
    ]);
    for (const { sessionId } of open) await store.control.endOrphan(sessionId, 'workflow-lost');
    expect(await store.control.openSessions(null, 10)).toEqual([]);
    expect(await unsound(store)).toEqual({});
  });
});
