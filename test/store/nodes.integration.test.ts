import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KernelId, SessionId } from '../../src/contract/index.js';
import type { Store } from '../../src/store/store.js';
import {
  exitOf,
  GIB,
  hashOf,
  joinNode,
  type Ledger,
  nextId,
  nodeFacts,
  openLedger,
  placeAll,
  startSession,
  stopOf,
  submitAndAdmit,
  unsound,
} from './ledger.js';

let ledger: Ledger;
let store: Store;
beforeEach(async () => {
  ledger = await openLedger();
  store = ledger.store;
});
afterEach(() => store.close());

async function execute(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: ledger.url });
  await client.connect();
  await client.query(statement);
  await client.end();
}
const foundOf = (sessionId: SessionId, kernelId: KernelId, change: { attempt?: number; epoch?: number } = {}) => ({
  kernelId,
  sessionId,
  attempt: 1,
  epoch: 1,
  state: 'running' as const,
  ...change,
});

describe('a node', () => {
  test('is made once, known by its token, and READY only after it reconciled', async () => {
    const node = { name: 'n2', group: 'default', zone: null, tokenHash: hashOf('n2') };
    expect(await store.nodes.create({ ...node, group: 'nope' })).toBe('no-group');
    expect(await store.nodes.create(node)).toBe('created');
    expect(await store.nodes.create(node)).toBe('exists');
    expect(await store.nodes.authenticate(hashOf('n2'))).toEqual({ name: 'n2' });
    expect(await store.nodes.authenticate(hashOf('other'))).toBeNull();
    await store.nodes.register('n2', nodeFacts());
    expect((await store.nodes.get('n2'))?.state).toBe('REGISTERED');
    const ready = { answer: { state: 'READY', expected: [], remove: [] }, becameReady: true };
    expect(await store.nodes.reconcile('n2', { kernels: [], starting: true })).toMatchObject(ready);
    expect(await store.nodes.reconcile('n2', { kernels: [], starting: true })).toMatchObject({ becameReady: false });
    expect((await store.nodes.list({ limit: 1 })).items.map((one) => one.name)).toEqual(['n1']);
    await store.nodes.setCordon('n2', true, 'a fan is broken');
    const back = await store.nodes.reconcile('n2', { kernels: [], starting: true });
    expect(back).toMatchObject({ answer: { state: 'CORDONED' }, becameReady: false });
    expect(await store.nodes.setCordon('n2', false, '')).toMatchObject({
      state: 'READY',
      stateReason: null,
      simulated: true,
    });
    expect(await store.nodes.remove('n2')).toBe('removed');
    expect(await store.nodes.remove('n2')).toBe('missing');
    expect(await store.nodes.create(node)).toBe('created');
  });

  test('that comes back smaller than what it promised keeps its promises and takes nothing new', async () => {
    const running = await startSession(ledger, {
      kernels: [{ role: 'main', slots: { cpuMilli: 3000, memoryBytes: GIB, gpuCount: 2 } }],
    });
    await store.nodes.register('n1', nodeFacts(1, { capacity: { cpuMilli: 2000, memoryBytes: 16 * GIB } }));
    const node = await store.nodes.get('n1');
    expect(node).toMatchObject({
      capacity: { cpuMilli: 2000 },
      used: { cpuMilli: 3000 },
      stateReason: 'more is promised than it has now',
    });
    expect(node?.devices.map((device) => [device.id, device.healthy])).toEqual([
      ['gpu-0', true],
      ['gpu-1', false],
    ]);
    expect(await store.nodes.remove('n1')).toBe('held');
    await submitAndAdmit(ledger);
    expect(await placeAll(store)).toMatchObject({ placed: [], dropped: 1 });
    await store.nodes.report('n1', [exitOf(running.kernelId)]);
    await store.sessions.finish(running.sessionId, 1, true);
    await placeAll(store);
    expect((await store.nodes.get('n1'))?.used.cpuMilli).toBe(1000);
    expect(await unsound(store)).toEqual({});
  });
});

describe('reconciliation', () => {
  test('removes what has no owner, but nothing that is newer than its list', async () => {
    const running = await startSession(ledger);
    const stray = foundOf(running.sessionId, nextId<KernelId>('krn'));
    const own = foundOf(running.sessionId, running.kernelId);
    const newborn = foundOf(running.sessionId, nextId<KernelId>('krn'), { epoch: 2 });
    const { answer } = await store.nodes.reconcile('n1', { kernels: [own, stray, newborn], starting: false });
    expect(answer).toMatchObject({ epoch: 1, missing: [], remove: [{ kernelId: stray.kernelId, attempt: 1 }] });
    expect(answer.expected).toEqual([
      { kernelId: running.kernelId, sessionId: running.sessionId, attempt: 1, epoch: 1 },
    ]);
  });
  test('ends what ran and is not there, as lost by the engine; what has not begun is not missing', async () => {
    const running = await startSession(ledger, { retry: { maxAttempts: 1 } });
    const placed = await submitAndAdmit(ledger);
    await placeAll(store);
    const young = await store.nodes.reconcile('n1', { kernels: [], starting: false });
    expect(young.answer.missing).toEqual([]);
    const { answer, signals } = await store.nodes.reconcile('n1', { kernels: [], starting: true });
    expect(answer.missing).toEqual([running.kernelId]);
    expect(signals).toEqual([{ sessionId: running.sessionId, kind: 'exited', attempt: 1 }]);
    expect(await store.sessions.finish(running.sessionId, 1, true)).toMatchObject({
      result: 'platform-failure',
      cause: 'engine-failed',
    });
    expect((await store.sessions.get(placed, ledger.admin))?.state).toBe('SCHEDULED');
  });
});

describe('reports', () => {
  test('of a kernel that is not placed there are refused, one by one', async () => {
    await joinNode(store, 'n2');
    const running = await startSession(ledger);
    const exit = exitOf(running.kernelId);
    expect(await store.nodes.report('n2', [exit])).toMatchObject([{ accepted: false, signal: null }]);
    const both = await store.nodes.report('n1', [{ ...exit, attempt: 2 }, exit]);
    expect(both.map((one) => one.accepted)).toEqual([false, true]);
    await store.sessions.finish(running.sessionId, 1, true);
    expect(await store.nodes.report('n1', [exit])).toMatchObject([
      { accepted: true, detail: 'the placement is over', signal: null },
    ]);
  });
  test('of health: the first success is told, and a deadline after it ends nothing', async () => {
    const running = await startSession(ledger, { healthCheck: { port: 8000 } });
    const report = (healthy: boolean) => [
      { kind: 'health' as const, kernelId: running.kernelId, attempt: 1, healthy, message: '' },
    ];
    expect(await store.planning.why(running.sessionId)).toMatchObject({ class: 'starting', reason: 'health_check' });
    expect(await store.nodes.report('n1', report(false))).toMatchObject([{ accepted: true, signal: null }]);
    expect(await store.nodes.report('n1', report(true))).toMatchObject([{ signal: { kind: 'healthy' } }]);
    expect(await store.nodes.report('n1', report(true))).toMatchObject([{ signal: null }]);
    const deadline = { ...stopOf(running.sessionId), cause: 'health-check' as const, attempt: 1 };
    expect(await store.sessions.markEnding(deadline)).toMatchObject({ state: 'RUNNING', changed: false });
    for (const sent of [1, 1, 1, 0]) {
      expect(await store.planning.dueSignals({ olderThanMs: 0, limit: 9 })).toHaveLength(sent);
    }
    expect(await store.nodes.report('n1', report(false))).toMatchObject([{ signal: { kind: 'unhealthy' } }]);
    expect(await store.sessions.markEnding(deadline)).toMatchObject({ state: 'TERMINATING', changed: true });
  });
  test('of ports show where they are reached, while it is placed', async () => {
    const running = await startSession(ledger, { ports: [{ name: 'web', containerPort: 8888 }] });
    const ports = [{ name: 'web', containerPort: 8888, hostPort: 32_001 }];
    for (const _ of [1, 2])
      await store.nodes.report('n1', [{ kind: 'ports', kernelId: running.kernelId, attempt: 1, ports }]);
    const shown = await store.sessions.get(running.sessionId, ledger.admin);
    expect(shown?.ports).toEqual([{ name: 'web', containerPort: 8888, hostPort: 32_001, node: 'n1' }]);
  });
});

describe('a launch order', () => {
  test('names the peers, and is refused elsewhere, before the first step, after the deadline and once a stop was asked', async () => {
    const sessionId = await submitAndAdmit(ledger, {
      kernels: [
        { role: 'main', slots: { cpuMilli: 100, memoryBytes: GIB } },
        { role: 'worker', slots: { cpuMilli: 100, memoryBytes: GIB } },
      ],
    });
    await placeAll(store);
    const kernelId = (await store.sessions.get(sessionId, ledger.admin))?.kernels[1]?.id as KernelId;
    expect(await store.nodes.launchOrder('n1', kernelId, 1)).toBeNull();
    await store.sessions.begin(sessionId, 1);
    const order = await store.nodes.launchOrder('n1', kernelId, 1);
    expect(order?.order).toMatchObject({
      role: 'worker1',
      hostname: 'worker1',
      rank: 1,
      size: 2,
      epoch: 2,
      healthCheck: null,
    });
    expect(order?.order.peers.map((peer) => [peer.hostname, peer.rank, peer.sameEngine])).toEqual([
      ['main', 0, true],
      ['worker1', 1, true],
    ]);
    expect(await store.nodes.launchOrder('n2', kernelId, 1)).toBeNull();
    expect(await store.nodes.launchOrder('n1', kernelId, 2)).toBeNull();
    await execute("UPDATE sessions SET placed_at = placed_at - interval '3 hours'");
    expect(await store.nodes.launchOrder('n1', kernelId, 1)).toBeNull();
    await execute("UPDATE sessions SET placed_at = placed_at + interval '3 hours'");
    await store.sessions.requestStop(stopOf(sessionId));
    expect(await store.nodes.launchOrder('n1', kernelId, 1)).toBeNull();
  });
});

describe('silence', () => {
  const LIMIT_MS = 800;
  const ago = (node: string, seconds: number) =>
    execute(`UPDATE nodes SET last_seen_at = now() - interval '${seconds} s' WHERE name ~ '${node}'`);
  const upFor = (seconds: number) => execute(`UPDATE control_uptime SET up_since = now() - interval '${seconds} s'`);
  const settle = () =>
    execute("UPDATE nodes SET silent_since = silent_since - interval '10 s' WHERE silent_since IS NOT NULL");
  const ask = (name = 'n1') => store.nodes.silent(name, LIMIT_MS);

  test('is not counted while the control plane was away, nor for twice the limit after it', async () => {
    await ago('n1', 60);
    expect(await ask()).toMatchObject({ verdict: 'grace' });
    await store.control.markUp();
    const back = await ask();
    expect(back).toMatchObject({ verdict: 'grace' });
    expect(back.retryAfterMs).toBeGreaterThan(LIMIT_MS);
    await execute("UPDATE control_uptime SET up_since = now() - interval '1 h', marked_at = now() - interval '16 s'");
    expect(await ask()).toMatchObject({ verdict: 'grace' });
    await store.control.markUp();
    expect((await ask()).detail).toContain('came back');
    expect((await store.nodes.get('n1'))?.state).toBe('READY');
  });

  test('makes a node LOST once, and ends its sessions when it stays away', async () => {
    const running = await startSession(ledger, { retry: { maxAttempts: 1 } });
    await store.control.markUp();
    await upFor(600);
    expect(await ask()).toMatchObject({ verdict: 'alive' });
    await ago('n1', 60);
    expect(await ask()).toMatchObject({ verdict: 'grace', retryAfterMs: LIMIT_MS / 8 });
    await settle();
    expect(await ask()).toMatchObject({ verdict: 'lost', endAfterMs: 300_000 });
    expect(await ask()).toMatchObject({ verdict: 'lost' });
    expect((await store.nodes.get('n1'))?.state).toBe('LOST');
    const told = [{ sessionId: running.sessionId, kind: 'exited', attempt: 1 }];
    expect(await store.nodes.failLost('n1')).toEqual(told);
    expect(await store.nodes.failLost('n1')).toEqual(told);
    expect(await store.sessions.finish(running.sessionId, 1, false)).toMatchObject({
      state: 'ERROR',
      cause: 'node-lost',
    });
    const back = await store.nodes.reconcile('n1', {
      kernels: [foundOf(running.sessionId, running.kernelId)],
      starting: false,
    });
    expect(back).toMatchObject({ becameReady: true, answer: { remove: [{ kernelId: running.kernelId }] } });
    expect(await store.nodes.failLost('n1')).toEqual([]);
    expect(await unsound(store)).toEqual({});
    await store.nodes.remove('n1');
    expect(await ask()).toMatchObject({ verdict: 'removed' });
  });

  test('of three nodes and over a fifth at once is an alarm that ends nothing', async () => {
    for (const name of ['n2', 'n3', 'n4']) await joinNode(store, name);
    await store.control.markUp();
    await upFor(600);
    await ago('n[123]', 60);
    for (const name of ['n1', 'n2', 'n3']) expect(await ask(name)).toMatchObject({ verdict: 'grace' });
    await settle();
    for (const name of ['n1', 'n2', 'n3']) expect((await ask(name)).detail).toContain('alarm: 3 of 4 nodes');
    await store.nodes.touch('n2');
    expect(await ask('n1')).toMatchObject({ verdict: 'lost' });
  });
});
