import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { groupPolicySchema, type NodeHealthReport } from '../../src/contract/index.js';
import type { Store } from '../../src/store/store.js';
import {
  emptyPlan,
  GIB,
  joinNode,
  type Ledger,
  nodeFacts,
  openLedger,
  openPass,
  placeAll,
  startSession,
  stopOf,
  submitAndAdmit,
  unsound,
} from './ledger.js';
import { preempt, query, twice } from './upkeep.js';

let ledger: Ledger;
let store: Store;
beforeEach(async () => {
  ledger = await openLedger();
  store = ledger.store;
});
afterEach(() => store.close());

const same = (one: unknown, other: unknown): void => expect(one).toEqual(other);
const stateOf = async (name = 'n1') => {
  const node = await store.nodes.get(name);
  return [node?.state, node?.stateReason];
};
const generation = async (group = 'default') => (await store.planning.snapshot(group))?.group.generation ?? 0;
const byHand = { reason: 'a new disk', deadlineSeconds: null, actor: 'ada' };
const report = (change: Partial<NodeHealthReport> = {}): NodeHealthReport => ({
  healthy: true,
  reason: '',
  unhealthyDevices: [],
  images: [],
  ...change,
});
/** What a pass finds of nodes that drain: that they are empty. */
async function foundEmpty(group = 'default', drained = ['n1']) {
  const pass = await openPass(store, group);
  try {
    return await pass.commit(emptyPlan(pass, { drained }));
  } finally {
    await pass.close();
  }
}
const otherGroup = (name = 'night') =>
  store.settings.createGroup({ name, policy: groupPolicySchema.parse({}), domains: [], projects: [] });

describe('what a node is', () => {
  test('is the last that holds of it, and each is taken away alone', async () => {
    await store.nodes.setCordon('n1', true, 'a fan is loud');
    expect(await stateOf()).toEqual(['CORDONED', 'a fan is loud']);
    await store.nodes.drain('n1', byHand);
    expect(await stateOf()).toEqual(['DRAINING', 'a new disk']);
    expect(await foundEmpty()).toMatchObject({ outcome: 'committed' });
    expect(await stateOf()).toEqual(['DRAINED', 'a new disk']);
    await store.nodes.markUnhealthy('n1', 'it smokes', 'ada');
    expect(await stateOf()).toEqual(['UNHEALTHY', 'it smokes']);
    await query(ledger, "UPDATE nodes SET lost_at = now(), lost_reason = 'no sign' WHERE name = 'n1'");
    expect(await stateOf()).toEqual(['LOST', 'no sign']);
    await store.nodes.setCordon('n1', false, '');
    expect(await store.nodes.reconcile('n1', { kernels: [], starting: true })).toMatchObject({
      answer: { state: 'UNHEALTHY' },
      becameReady: false,
    });
    await store.nodes.markHealthy('n1', 'ada');
    expect(await stateOf()).toEqual(['READY', null]);
    expect(await unsound(store)).toEqual({});
  });

  test('changes once: the same again raises no generation', async () => {
    const before = await generation();
    await twice(() => store.nodes.setCordon('n1', true, 'x'), same);
    expect(await generation()).toBe(before + 1);
    await twice(() => store.nodes.markUnhealthy('n1', 'y', 'ada'), same);
    await twice(() => store.nodes.markHealthy('n1', 'ada'), same);
    await twice(() => store.nodes.setCordon('n1', false, ''), same);
    expect(await generation()).toBe(before + 4);
    expect(await store.nodes.drain('nope', byHand)).toBeNull();
    expect(await store.nodes.markUnhealthy('nope', 'x', 'ada')).toBeNull();
    expect(await store.nodes.markHealthy('nope', 'ada')).toBeNull();
    expect(await store.nodes.cancelMove('nope')).toBeNull();
    expect(await store.nodes.health('nope', report())).toEqual({ changed: false });
  });
});

describe('a drain', () => {
  test('tells until when it is empty, who holds it, and by which deadline', async () => {
    const running = await startSession(ledger, { minRuntimeSeconds: 600, gracePeriodSeconds: 30 });
    const node = await store.nodes.drain('n1', byHand);
    const started = Date.parse((await store.sessions.get(running.sessionId, ledger.admin))?.startedAt ?? '');
    expect(node?.drain).toMatchObject({ reason: 'a new disk', actor: 'ada', deadline: null, remaining: 1 });
    expect(Date.parse(node?.drain?.emptyAt ?? '')).toBe(started + 630_000);
    const sooner = await store.nodes.drain('n1', { ...byHand, deadlineSeconds: 60, actor: 'bob' });
    expect(sooner?.drain).toMatchObject({ since: node?.drain?.since, actor: 'bob' });
    expect(Date.parse(sooner?.drain?.emptyAt ?? '') - Date.parse(sooner?.drain?.deadline ?? '')).toBe(30_000);
    await submitAndAdmit(ledger);
    expect(await placeAll(store)).toMatchObject({ placed: [], dropped: 1 });
    expect(await foundEmpty()).toMatchObject({ outcome: 'committed' });
    expect((await stateOf())[0]).toBe('DRAINING');
    await preempt(ledger, running.sessionId, { cause: 'drained', then: 'end' });
    await store.sessions.finish(running.sessionId, 1, true);
    await foundEmpty();
    expect((await store.nodes.get('n1'))?.drain).toMatchObject({ remaining: 0, emptyAt: null });
    expect((await stateOf())[0]).toBe('DRAINED');
  });

  test('raced with a cordon keeps both, and uncordon ends both', async () => {
    await Promise.all([
      store.nodes.drain('n1', byHand),
      store.nodes.setCordon('n1', true, 'c'),
      store.nodes.drain('n1', byHand),
    ]);
    expect((await stateOf())[0]).toBe('DRAINING');
    await twice(() => store.nodes.setCordon('n1', false, ''), same);
    expect(await stateOf()).toEqual(['READY', null]);
    expect(await unsound(store)).toEqual({});
  });
});

describe('health by checks', () => {
  test('marks the node, which drains until the check passes; a person’s mark only a person takes away', async () => {
    const broken = report({ healthy: false, reason: 'dcgm: XID 79' });
    expect(await store.nodes.health('n1', broken)).toEqual({ changed: true });
    expect(await store.nodes.health('n1', broken)).toEqual({ changed: false });
    expect(await stateOf()).toEqual(['UNHEALTHY', 'dcgm: XID 79']);
    expect((await store.nodes.get('n1'))?.drain).toMatchObject({ actor: 'check', remaining: 0 });
    expect(await store.nodes.health('n1', report())).toEqual({ changed: true });
    expect(await stateOf()).toEqual(['READY', null]);

    await store.nodes.health('n1', broken);
    await store.nodes.markUnhealthy('n1', 'not trusted', 'ada');
    expect(await store.nodes.health('n1', broken)).toEqual({ changed: false });
    expect(await store.nodes.health('n1', report())).toEqual({ changed: false });
    expect(await stateOf()).toEqual(['UNHEALTHY', 'not trusted']);
    expect((await store.nodes.markHealthy('n1', 'ada'))?.state).toBe('READY');
  });

  test('keeps broken devices back, until they are told well; images raise no generation', async () => {
    const before = await generation();
    const one = report({ unhealthyDevices: [{ id: 'gpu-1', reason: 'ECC' }] });
    expect(await store.nodes.health('n1', one)).toEqual({ changed: true });
    expect(await store.nodes.health('n1', one)).toEqual({ changed: false });
    expect(await generation()).toBe(before + 1);
    const healthy = async () => (await store.nodes.get('n1'))?.devices.map((device) => device.healthy);
    expect(await healthy()).toEqual([true, false, true, true]);
    await store.nodes.register('n1', nodeFacts());
    expect(await healthy()).toEqual([true, false, true, true]);
    await store.nodes.register('n1', nodeFacts(3));
    expect(await store.nodes.health('n1', report())).toEqual({ changed: true });
    expect(await healthy()).toEqual([true, true, true]);

    const now = await generation();
    expect(await store.nodes.health('n1', report({ images: ['python:3.12'] }))).toEqual({ changed: false });
    expect((await store.nodes.get('n1'))?.images).toEqual(['python:3.12']);
    expect((await store.planning.snapshot('default'))?.nodes[0]?.images).toEqual(['python:3.12']);
    expect(await generation()).toBe(now);
  });
});

describe('a black hole', () => {
  const failStart = async (retry: object = { maxAttempts: 9, backoffSeconds: 0 }) => {
    const { sessionId } = await startSession(ledger, { retry }, 'PREPARING');
    const failed = { ...stopOf(sessionId), cause: 'engine-failed' as const, message: 'no runtime', attempt: 1 };
    await store.sessions.markEnding({ ...failed, node: 'n1' });
    await twice(() => store.sessions.finish(sessionId, 1, true), same);
    await store.sessions.requestStop(stopOf(sessionId));
    return sessionId;
  };
  test('is cordoned after failed starts of that many different sessions in a row, and says which', async () => {
    const failed = [await failStart(), await failStart()];
    expect((await stateOf())[0]).toBe('READY');
    failed.push(await failStart());
    const [state, reason] = await stateOf();
    expect(state).toBe('CORDONED');
    for (const id of failed) expect(reason).toContain(id);
    expect(reason).toContain('the last by engine-failed: no runtime');
    await store.nodes.setCordon('n1', false, '');
    await failStart();
    expect((await stateOf())[0]).toBe('READY');
    expect(await unsound(store)).toEqual({});
  });
  test('is none when a start between them works, or when the same session fails again and again', async () => {
    await failStart();
    await failStart();
    const { sessionId } = await startSession(ledger);
    await failStart();
    expect((await stateOf())[0]).toBe('READY');
    await store.sessions.requestStop(stopOf(sessionId));
    await store.sessions.finish(sessionId, 1, true);
    const again = await submitAndAdmit(ledger, { retry: { maxAttempts: 9, backoffSeconds: 0 } });
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      await placeAll(store);
      await store.sessions.begin(again, attempt);
      await store.sessions.markEnding({ ...stopOf(again), cause: 'pull-failed', attempt, node: 'n1' });
      await store.sessions.finish(again, attempt, true);
    }
    expect((await stateOf())[0]).toBe('READY');
  });
});

describe('a move', () => {
  const at = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  const night = { toGroup: 'night', at: null, repeat: 'none' as const, deadlineSeconds: null };
  beforeEach(() => otherGroup());

  test('drains the node now, changes its group when it is empty, and ends its own drain', async () => {
    expect(await store.nodes.setMove('n1', { ...night, toGroup: 'nope' }, 'ada')).toBe('no-group');
    expect(await store.nodes.setMove('n1', { ...night, toGroup: 'default' }, 'ada')).toBe('same-group');
    expect(await store.nodes.setMove('nope', night, 'ada')).toBe('missing');
    const running = await startSession(ledger);
    expect(await store.nodes.setMove('n1', night, 'ada')).toMatchObject({
      state: 'DRAINING',
      stateReason: 'it moves to the group night',
      move: { toGroup: 'night', repeat: 'none' },
    });
    expect(await store.nodes.completeMoves('default')).toEqual([]);
    await preempt(ledger, running.sessionId, { cause: 'drained', then: 'end' });
    await store.sessions.finish(running.sessionId, 1, true);
    const before = [await generation(), await generation('night')];
    expect((await foundEmpty()).kicks).toEqual(['default', 'night']);
    expect(await store.nodes.get('n1')).toMatchObject({ group: 'night', state: 'READY', drain: null, move: null });
    expect(await store.nodes.completeMoves('night')).toEqual([]);
    expect(await generation()).toBeGreaterThan(before[0] ?? 0);
    expect(await generation('night')).toBeGreaterThan(before[1] ?? 0);
    const pass = await openPass(store, 'night'); // the reservation that it left is folded where it is now
    await pass.close();
    expect(await unsound(store)).toEqual({});
  });

  test('for later waits, is replaced by another to the same group, and is forgotten with the drain that it began', async () => {
    expect(await store.nodes.setMove('n1', { ...night, at: at(1) }, 'ada')).toMatchObject({ state: 'READY' });
    const later = at(2);
    expect(await store.nodes.setMove('n1', { ...night, at: later }, 'ada')).toMatchObject({ move: { at: later } });
    await store.nodes.setMove('n1', night, 'ada');
    expect((await stateOf())[0]).toBe('DRAINING');
    expect(await twice(() => store.nodes.cancelMove('n1'), same)).toMatchObject({ state: 'READY', move: null });
    await store.nodes.drain('n1', byHand);
    await store.nodes.setMove('n1', night, 'ada');
    expect(await store.nodes.cancelMove('n1')).toMatchObject({ state: 'DRAINING', drain: { actor: 'ada' } });
  });

  test('that repeats comes again a day later, and one back makes the round', async () => {
    await store.nodes.setMove('n1', { ...night, at: at(0.4), repeat: 'daily' }, 'ada');
    const back = at(0.8);
    expect(
      await store.nodes.setMove('n1', { ...night, toGroup: 'default', at: back, repeat: 'daily' }, 'ada'),
    ).toMatchObject({
      move: { toGroup: 'night' },
    });
    await query(ledger, "UPDATE node_moves SET at = now() WHERE to_group = 'night'");
    const pass = await openPass(store);
    await pass.commit(emptyPlan(pass, { drains: [{ node: 'n1', message: 'it moves' }], drained: ['n1'] }));
    await pass.close();
    await foundEmpty();
    expect(await store.nodes.get('n1')).toMatchObject({
      group: 'night',
      state: 'READY',
      move: { toGroup: 'default', at: back, repeat: 'daily' },
    });
    const [again] = await query<{ at: Date }>(ledger, "SELECT at FROM node_moves WHERE to_group = 'night'");
    expect((again?.at.getTime() ?? 0) - Date.now()).toBeGreaterThan(86_000_000);
    expect(await unsound(store)).toEqual({});
  });
});

describe('a LOST node', () => {
  test('hands its sessions to others: each is tried elsewhere, and a gang avoids the lost one alone', async () => {
    await joinNode(store, 'n2');
    const slots = { cpuMilli: 100, memoryBytes: GIB };
    const kernels = [
      { role: 'main', slots },
      { role: 'worker', slots },
    ];
    const running = await startSession(ledger, { kernels });
    const waiting = await submitAndAdmit(ledger);
    await placeAll(store);
    await query(ledger, "UPDATE nodes SET lost_at = now(), silent_since = now() WHERE name = 'n1'");
    const told = [{ sessionId: running.sessionId, kind: 'exited', attempt: 1 }];
    expect(await store.nodes.failLost('n1')).toEqual(told);
    expect(await store.nodes.failLost('n1')).toEqual(told);
    expect(await store.sessions.finish(running.sessionId, 1, false)).toMatchObject({
      state: 'PENDING',
      cause: 'node-lost',
    });
    const [row] = await query<{ avoid_nodes: string[] }>(ledger, 'SELECT avoid_nodes FROM sessions WHERE id = $1', [
      running.sessionId,
    ]);
    expect(row?.avoid_nodes).toEqual(['n1']);
    expect(await store.sessions.begin(waiting, 1)).toMatchObject({ outcome: 'go' });
    expect(await store.nodes.failLost('n1')).toEqual([{ sessionId: waiting, kind: 'exited', attempt: 1 }]);
    expect(await store.sessions.finish(waiting, 1, false)).toMatchObject({ state: 'PENDING' });
    expect(await placeAll(store, 'n2')).toMatchObject({ dropped: 0 });
    expect(await unsound(store)).toEqual({});
  });
});

describe('a share of a device', () => {
  test('is shown with its limit and with what it promises, on the session and on the node', async () => {
    const facts = nodeFacts(2);
    const devices = facts.devices.map((device, index) => ({
      ...device,
      sharing: index === 0 ? ('mps' as const) : device.sharing,
    }));
    await store.nodes.register('n1', { ...facts, devices });
    const slots = { cpuMilli: 100, memoryBytes: GIB };
    const share = { role: 'main', slots: { ...slots, gpuMemoryBytes: 8 * GIB }, gpuMemoryLimitBytes: 10 * GIB };
    const sessionId = await submitAndAdmit(ledger, { kernels: [share] });
    const pass = await openPass(store);
    const [pending] = await pass.nextPage();
    if (pending === undefined) throw new Error('nobody waits');
    const kernels = pending.kernels.map((kernel) => ({
      kernelId: kernel.id,
      node: 'n1',
      deviceIds: ['gpu-0'],
      slots: kernel.slots,
    }));
    const placed = [{ sessionId, version: pending.version, explanation: 'on n1', kernels }];
    expect(await pass.commit(emptyPlan(pass, { placed }))).toMatchObject({ dropped: 0 });
    await pass.close();
    const guarantees = { memory: 'enforced', compute: 'together', faults: 'shared' };
    const shown = await store.sessions.get(sessionId, ledger.admin);
    expect(shown?.kernels[0]?.devices).toMatchObject([
      { id: 'gpu-0', share: { memoryBytes: 8 * GIB, limitBytes: 10 * GIB, sharing: 'mps' }, guarantees },
    ]);
    const held = (await store.nodes.get('n1'))?.devices[0];
    expect(held).toMatchObject({ heldBy: null, sharing: 'mps', shares: [{ sessionId, memoryBytes: 8 * GIB }] });
    expect(await unsound(store)).toEqual({});
    const whole = await startSession(ledger);
    expect((await store.sessions.get(whole.sessionId, ledger.admin))?.kernels[0]?.devices).toMatchObject([
      { id: 'gpu-1', share: null, guarantees: { memory: 'enforced', compute: 'exclusive', faults: 'isolated' } },
    ]);
    expect((await store.nodes.get('n1'))?.devices[1]).toMatchObject({
      heldBy: { sessionId: whole.sessionId },
      shares: [],
    });
    await store.sessions.requestStop(stopOf(sessionId));
    await store.sessions.finish(sessionId, 1, true);
    expect((await store.nodes.get('n1'))?.devices[0]?.shares).toEqual([]);
    expect(await unsound(store)).toEqual({});
  });
});
