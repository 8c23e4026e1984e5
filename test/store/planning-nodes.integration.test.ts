import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { contactLimitSeconds } from '../../src/store/nodes/launch-order.js';
import { type Ledger, openLedger, openPass, startSession, stopOf, submitAndAdmit } from './ledger.js';
import { commit } from './plans.js';
import { query } from './upkeep.js';

let ledger: Ledger;
beforeEach(async () => {
  ledger = await openLedger({ gpus: 2 });
  await ledger.store.settings.createGroup({
    name: 'night',
    policy: (await base()).group.policy,
    domains: [],
    projects: [],
  });
});
afterEach(() => ledger.store.close());

async function base() {
  const pass = await openPass(ledger.store);
  await pass.close();
  return pass.base;
}
const n1 = async () => (await base()).nodes.find((node) => node.name === 'n1');
const AT = '2100-01-01T00:00:00.000Z';
const move = (at: string | null, repeat: 'none' | 'daily' = 'none') =>
  ledger.store.nodes.setMove('n1', { toGroup: 'night', at, repeat, deadlineSeconds: 60 }, 'admin');
const begin = { drains: [{ node: 'n1', message: 'it has to be empty in time' }] };

describe('a node that is to move', () => {
  test('says when; its drain begins by the plan, once, and who runs there is read', async () => {
    const { sessionId } = await startSession(ledger);
    await move(AT);
    expect(await n1()).toMatchObject({ state: 'READY', moveAt: AT, drain: null });
    expect((await base()).running.map((one) => one.id)).toEqual([sessionId]);
    await commit(ledger, begin);
    const drain = { since: expect.any(String), deadline: expect.any(String) };
    expect(await n1()).toMatchObject({ state: 'DRAINING', moveAt: AT, drain });
    const { generation } = (await base()).group;
    await commit(ledger, begin);
    expect((await base()).group.generation).toBe(generation);
    expect(await ledger.store.nodes.get('n1')).toMatchObject({
      drain: { reason: 'it has to be empty in time', remaining: 1 },
    });
  });

  test('is moved by the plan that finds it empty, and not while the ledger knows of work there', async () => {
    const { sessionId } = await startSession(ledger);
    await move(AT);
    await commit(ledger, begin);
    expect(await commit(ledger, { drained: ['n1'] })).toMatchObject({ kicks: [] });
    expect(await n1()).toMatchObject({ state: 'DRAINING' });
    await ledger.store.sessions.requestStop(stopOf(sessionId));
    await ledger.store.sessions.finish(sessionId, 1, true);
    const committed = await commit(ledger, { drained: ['n1'] });
    expect(committed.kicks.toSorted()).toEqual(['default', 'night']);
    expect(await n1()).toBeUndefined();
    expect(await ledger.store.nodes.get('n1')).toMatchObject({
      group: 'night',
      state: 'READY',
      drain: null,
      move: null,
    });
    expect(await commit(ledger, { drained: ['n1'] })).toMatchObject({ kicks: [] });
  });

  test('that drains by hand already moves when its time has come', async () => {
    await ledger.store.nodes.drain('n1', { reason: 'by hand', deadlineSeconds: null, actor: 'admin' });
    await move(AT);
    await commit(ledger, { drained: ['n1'] });
    expect(await n1()).toMatchObject({ state: 'DRAINED' });
    await query(ledger, "UPDATE node_moves SET at = now() - interval '1 second'");
    await commit(ledger, {});
    expect(await ledger.store.nodes.get('n1')).toMatchObject({ group: 'night' });
  });
});

test('an UNHEALTHY node that holds nothing moves when its time has come, and stays UNHEALTHY', async () => {
  await ledger.store.nodes.markUnhealthy('n1', 'a fan', 'admin');
  await commit(ledger, { drained: ['n1'] });
  await move('2100-01-01T00:00:00.000Z');
  await commit(ledger, {});
  expect(await ledger.store.nodes.get('n1')).toMatchObject({ group: 'default' });
  await query(ledger, "UPDATE node_moves SET at = now() - interval '1 second'");
  expect(await commit(ledger, {})).toMatchObject({ kicks: ['default', 'night'] });
  expect(await ledger.store.nodes.get('n1')).toMatchObject({ group: 'night', state: 'UNHEALTHY' });
});

describe('an empty node that drains', () => {
  test('is DRAINED once, takes nothing, and is told to no plan again', async () => {
    await ledger.store.nodes.drain('n1', { reason: 'by hand', deadlineSeconds: null, actor: 'admin' });
    expect(await n1()).toMatchObject({ state: 'DRAINING' });
    await commit(ledger, { drained: ['n1'] });
    const { generation } = (await base()).group;
    await commit(ledger, { drained: ['n1'] });
    expect((await base()).group.generation).toBe(generation);
    expect(await n1()).toMatchObject({ state: 'DRAINED', drain: { deadline: null } });
    const id = await submitAndAdmit(ledger);
    const pass = await openPass(ledger.store);
    const [session] = await pass.nextPage();
    await pass.close();
    const kernels = (session?.kernels ?? []).map((kernel) => ({
      kernelId: kernel.id,
      node: 'n1',
      deviceIds: ['gpu-0'],
      slots: kernel.slots,
    }));
    const placed = [{ sessionId: id, version: session?.version ?? 0, explanation: '', kernels }];
    expect(await commit(ledger, { placed })).toMatchObject({ placed: [], dropped: 1 });
  });
});

test.each([
  [300, 240],
  [20, 15],
  [6, 3],
])('with %i s until a lost node’s work ends, an agent out of contact stops it after %i s', (lost, limit) => {
  expect(contactLimitSeconds(lost)).toBe(limit);
});
