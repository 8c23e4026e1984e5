import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reclaimIdle } from '../../activities/control/reclaim-idle.js';
import {
  type CreateSessionInput,
  groupPolicySchema,
  type NodeUsage,
  type SessionId,
} from '../../src/contract/index.js';
import type { DueSignal } from '../../src/store/store.js';
import { exitOf, type Ledger, openLedger, startSession, stopOf, unsound } from './ledger.js';
import { query } from './upkeep.js';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger({ gpus: 4 });
});
afterAll(() => ledger.store.close());

let taken = 0;
/** As if it was measured `agoMs` ago. */
const batch = (agoMs: number, kernels: NodeUsage['kernels'], devices: NodeUsage['devices'] = []): NodeUsage => ({
  takenAt: new Date(Date.now() + (taken += 1)).toISOString(),
  ageMs: agoMs,
  everyMs: 60_000,
  kernels,
  devices,
});
const MINUTE = 60_000;

/** One measurement each minute for `minutes`, the last one now, with that many cores in use. */
async function measure(kernelId: string, minutes: number, cores: number, before = 0): Promise<void> {
  for (let minute = 0; minute <= minutes; minute += 1) {
    const cpuNanoseconds = Math.round((before + minute * MINUTE * cores) * 1e6);
    const told = {
      kernelId: kernelId as never,
      attempt: 1,
      cpuNanoseconds,
      memoryBytes: 2 ** 20,
      receivedBytes: 0,
      sentBytes: 0,
    };
    await ledger.store.usage.record('n1', batch((minutes - minute) * MINUTE, [told]));
  }
}

const setIdle = (idle: object) =>
  query(ledger, 'UPDATE resource_groups SET policy = $1', [JSON.stringify(groupPolicySchema.parse({ idle }))]);
const quick = { utilization: { windowSeconds: 600 }, graceSeconds: 0, warningSeconds: 60 };

const sent: DueSignal[] = [];
const dependencies = () => ({
  store: ledger.store,
  door: { signalSession: async (signal: DueSignal) => (sent.push(signal), true) } as never,
  log: { warn: () => undefined },
  count: () => undefined,
});
const look = () => reclaimIdle(dependencies());
const sessionOf = (id: SessionId) => ledger.store.sessions.get(id, ledger.admin);
const cpuOnly: Partial<CreateSessionInput> = { kernels: [{ slots: { cpuMilli: 100, memoryBytes: 2 ** 30 } }] };

/** An attempt that began `hours` ago. */
async function started(hours: number, request: Partial<CreateSessionInput> = {}) {
  const session = await startSession(ledger, { kind: 'interactive', ...cpuOnly, ...request });
  await query(ledger, `UPDATE sessions SET started_at = now() - $2 * interval '1 hour' WHERE id = $1`, [
    session.sessionId,
    hours,
  ]);
  return session;
}
async function finish({ sessionId, kernelId }: { sessionId: SessionId; kernelId: Parameters<typeof exitOf>[0] }) {
  await ledger.store.sessions.requestStop(stopOf(sessionId));
  await ledger.store.nodes.report('n1', [exitOf(kernelId)]);
  await ledger.store.sessions.finish(sessionId, 1, true);
}

describe('a batch of measurements', () => {
  test('is taken once, and refused for a kernel that is not placed there', async () => {
    const session = await started(1);
    const kernel = {
      kernelId: session.kernelId,
      attempt: 1,
      cpuNanoseconds: 5,
      memoryBytes: 7,
      receivedBytes: 1,
      sentBytes: 2,
    };
    const one = batch(0, [kernel, { ...kernel, attempt: 2 }]);
    expect(await ledger.store.usage.record('n1', one)).toEqual({ refused: [session.kernelId] });
    expect(await ledger.store.usage.record('n1', one)).toEqual({ refused: [session.kernelId] });
    expect(await ledger.store.usage.record('other', one)).toEqual({ refused: [session.kernelId, session.kernelId] });
    const rows = await query(ledger, 'SELECT 1 FROM usage_samples WHERE kernel_id = $1', [session.kernelId]);
    expect(rows).toHaveLength(1);
    await finish(session);
  });

  test('shows the use of each session with its devices, and counts the time of GPUs by the hour', async () => {
    const session = await startSession(ledger, { kind: 'interactive' });
    const [device] = (await sessionOf(session.sessionId))?.kernels[0]?.devices ?? [];
    const at = (busyMs: number, observedMs: number) => [
      { id: device?.id ?? '', busyMs, observedMs, memoryBytes: 3 * 2 ** 30 },
    ];
    const kernel = { kernelId: session.kernelId, attempt: 1, memoryBytes: 2 ** 20, receivedBytes: 0, sentBytes: 0 };
    await ledger.store.usage.record('n1', batch(MINUTE, [{ ...kernel, cpuNanoseconds: 0 }], at(0, 0)));
    await ledger.store.usage.record('n1', batch(0, [{ ...kernel, cpuNanoseconds: 3e9 }], at(15_000, 59_000)));
    const { items } = await ledger.store.usage.list({ limit: 10, group: 'default' }, ledger.admin);
    const [shown] = items.find(({ sessionId }) => sessionId === session.sessionId)?.kernels ?? [];
    expect(shown).toMatchObject({ node: 'n1', role: 'main', memoryBytes: 2 ** 20 });
    expect(shown?.cpuMilli).toBeCloseTo(50, 0);
    expect(shown?.devices).toMatchObject([
      { id: device?.id, simulated: true, memoryBytes: 3 * 2 ** 30, promisedBytes: 24 * 2 ** 30 },
    ]);
    expect(shown?.devices[0]?.busyPercent).toBeCloseTo(25.4, 1);
    const hour = 3_600_000;
    const [from, until] = [-2, 1].map((hours) => new Date(Math.floor(Date.now() / hour + hours) * hour).toISOString());
    const used = await ledger.store.usage.gpuUsed({
      from: from ?? '',
      until: until ?? '',
      sessionIds: [session.sessionId],
    });
    expect(used).toEqual([
      { sessionId: session.sessionId, usedMilliGpuMs: 15_000_000, observedMilliGpuMs: 59_000_000 },
    ]);
    await finish(session);
  });
});

describe('an idle session', () => {
  test('is not touched without a policy, is warned once when one is attached, and then ends; its stop is sent until it is taken', async () => {
    await setIdle({});
    const [idle, busy] = [await started(2), await started(2)];
    await measure(idle.kernelId, 15, 0.01);
    await measure(busy.kernelId, 15, 0.5);
    expect(await look()).toEqual({ looked: 0, warned: 0, ended: 0 });

    await setIdle({ interactive: quick });
    expect(await look()).toEqual({ looked: 2, warned: 1, ended: 0 });
    expect(await look()).toEqual({ looked: 0, warned: 0, ended: 0 }); // no news of them
    const verdict = (await sessionOf(idle.sessionId))?.idle;
    expect(verdict).toMatchObject({
      state: 'warned',
      findings: [{ measure: 'cpu', status: 'low', threshold: 100 }, { measure: 'gpu' }],
    });
    expect((await ledger.store.planning.why(idle.sessionId))?.idle).toEqual(verdict);
    expect((await sessionOf(busy.sessionId))?.idle).toMatchObject({ state: 'active' });
    const events = await query<{ cause: string }>(
      ledger,
      `SELECT cause FROM session_events WHERE session_id = $1 AND kind = 'note'`,
      [idle.sessionId],
    );
    expect(events.map(({ cause }) => cause)).toEqual(['idle-warning']);

    await query(
      ledger,
      `UPDATE session_idle SET warned_at = warned_at - interval '2 minutes', look_at = now() WHERE session_id = $1`,
      [idle.sessionId],
    );
    expect(await look()).toEqual({ looked: 1, warned: 0, ended: 1 });
    expect(await look()).toEqual({ looked: 0, warned: 0, ended: 0 });
    expect(sent).toEqual([{ sessionId: idle.sessionId, kind: 'stop', attempt: 1 }]);
    expect(await sessionOf(idle.sessionId)).toMatchObject({ state: 'TERMINATING', cause: 'idle-timeout', idle: null });
    await query(ledger, `UPDATE sessions SET signalled_at = now() - interval '1 hour' WHERE id = $1`, [idle.sessionId]);
    const due = await ledger.store.planning.dueSignals({ olderThanMs: 5000, limit: 10 });
    expect(due).toMatchObject([{ sessionId: idle.sessionId, kind: 'stop' }]);
    await ledger.store.nodes.report('n1', [exitOf(idle.kernelId, { exitCode: 143 })]);
    expect(await ledger.store.sessions.finish(idle.sessionId, 1, true)).toMatchObject({
      state: 'TERMINATED',
      result: 'stopped',
    });
    await finish(busy);
    expect(await unsound(ledger.store)).toEqual({});
  });

  test('that is used after the warning keeps running, and hears that the warning is over', async () => {
    await setIdle({ interactive: quick });
    const session = await started(2);
    await measure(session.kernelId, 15, 0.01);
    expect(await look()).toMatchObject({ warned: 1 });
    const [last] = await query<{ cpu: string }>(
      ledger,
      'SELECT max(cpu_nanoseconds) AS cpu FROM usage_samples WHERE kernel_id = $1',
      [session.kernelId],
    );
    const told = { kernelId: session.kernelId, attempt: 1, memoryBytes: 1, receivedBytes: 0, sentBytes: 0 };
    await ledger.store.usage.record('n1', batch(0, [{ ...told, cpuNanoseconds: Number(last?.cpu) + 60e9 }]));
    expect(await look()).toMatchObject({ warned: 0, ended: 0 });
    const events = await query<{ cause: string }>(
      ledger,
      `SELECT cause FROM session_events WHERE session_id = $1 AND kind = 'note' ORDER BY seq`,
      [session.sessionId],
    );
    expect(events.map(({ cause }) => cause)).toEqual(['idle-warning', 'idle-over']);
    await finish(session);
  });

  test('that was warned under a policy that was taken away is warned anew when one is attached', async () => {
    await setIdle({ interactive: quick });
    const session = await started(2);
    await measure(session.kernelId, 15, 0.01);
    expect(await look()).toMatchObject({ warned: 1 });
    await query(ledger, `UPDATE session_idle SET warned_at = warned_at - interval '2 minutes' WHERE session_id = $1`, [
      session.sessionId,
    ]);
    await setIdle({});
    await look();
    await setIdle({ interactive: quick });
    expect(await look()).toMatchObject({ warned: 1, ended: 0 });
    await finish(session);
  });

  test.each<[string, () => Promise<unknown>]>([
    [
      'a measurement that came meanwhile',
      () =>
        query(
          ledger,
          `INSERT INTO usage_samples SELECT kernel_id, attempt, now() + interval '1 s', taken_at,
       every_ms, segment, cpu_nanoseconds, memory_bytes, 0, 0, '[]', 900, NULL, NULL, 0 FROM usage_samples ORDER BY at DESC LIMIT 1`,
        ),
    ],
    ['a policy that was changed meanwhile', () => setIdle({ interactive: { ...quick, warningSeconds: 3600 } })],
  ])('is not ended on what is not so any more: %s', async (_title, meanwhile) => {
    await setIdle({ interactive: { ...quick, warningSeconds: 0 } });
    const session = await started(2);
    await measure(session.kernelId, 15, 0.01);
    const { nowMs, candidates } = await ledger.store.usage.idleCandidates(null, 10);
    const { idleDecision } = await import('../../src/scheduler/idle.js');
    const orders = candidates.map((candidate) => ({ candidate, ...idleDecision(candidate, nowMs) }));
    expect(orders.map(({ step }) => step)).toEqual(['end']);
    await meanwhile();
    expect(await ledger.store.usage.settleIdle(orders)).toEqual([]);
    expect(await sessionOf(session.sessionId)).toMatchObject({ state: 'RUNNING' });
    await finish(session);
  });

  test('whose node was silent for a while begins its window again; counters lose nothing', async () => {
    await setIdle({ interactive: quick });
    const session = await started(2);
    const told = { kernelId: session.kernelId, attempt: 1, memoryBytes: 1, receivedBytes: 0, sentBytes: 0 };
    for (const ago of [40, 39, 38, 2, 1, 0]) {
      await ledger.store.usage.record('n1', batch(ago * MINUTE, [{ ...told, cpuNanoseconds: (40 - ago) * 1e6 }]));
    }
    expect(await look()).toMatchObject({ looked: 1, warned: 0 });
    const { since } = (await sessionOf(session.sessionId))?.idle ?? { since: null };
    expect(Math.round((Date.now() - Date.parse(since ?? '')) / MINUTE)).toBe(2);
    await finish(session);
  });

  test('by the network: what a gateway saw, and its silence', async () => {
    await setIdle({ interactive: { network: { windowSeconds: 60 }, graceSeconds: 0, warningSeconds: 0 } });
    const session = await started(2, { ports: [{ name: 'http', containerPort: 80 }] });
    const state = async () => (await look(), (await sessionOf(session.sessionId))?.idle?.state);
    expect(await state()).toBe('unknown'); // no gateway ever reported
    const seen = (inFlight: number, quietMs: number) => ({
      sessionId: session.sessionId,
      requests: 1,
      inFlight,
      quietMs,
    });
    await ledger.store.usage.recordActivity({ gateway: 'g1', sessions: [seen(1, 0)] });
    expect(await state()).toBe('active');
    await ledger.store.usage.recordActivity({ gateway: 'g1', sessions: [] });
    expect(await state()).toBe('counting'); // the request ended a moment ago
    await query(ledger, `UPDATE activity_gateways SET reported_at = now() - interval '2 minutes'`);
    await query(ledger, `UPDATE app_activity SET last_at = now() - interval '2 minutes'`);
    expect(await state()).toBe('unknown'); // it is silent
    await ledger.store.usage.recordActivity({ gateway: 'g1', sessions: [] });
    expect(await state()).toBe('counting'); // after its silence the window starts again
    await query(ledger, `UPDATE activity_gateways SET since = now() - interval '1 hour'`);
    expect(await look()).toMatchObject({ ended: 1 });
    await finish(session);
  });

  test('what is kept: samples for the longest window, hours for ever', async () => {
    const session = await started(2);
    const told = { kernelId: session.kernelId, attempt: 1, memoryBytes: 1, receivedBytes: 0, sentBytes: 0 };
    await ledger.store.usage.record('n1', batch(0, [{ ...told, cpuNanoseconds: 1 }]));
    await query(ledger, `UPDATE usage_samples SET at = at - interval '3 hours' WHERE kernel_id = $1`, [
      session.kernelId,
    ]);
    const left = () => query(ledger, 'SELECT 1 FROM usage_samples WHERE kernel_id = $1', [session.kernelId]);
    await setIdle({ batch: { utilization: { windowSeconds: 86_400 } } });
    await ledger.store.usage.sweep();
    expect(await left()).toHaveLength(1);
    await setIdle({});
    await ledger.store.usage.sweep();
    expect(await left()).toEqual([]);
    await finish(session);
  });
});
