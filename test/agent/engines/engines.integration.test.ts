import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { engineName } from '../../../src/agent/engines/found-engine.js';
import { type OrderResult, segmentName } from '../../../src/contract/index.js';
import { listContainers } from '../../support/docker.js';
import { startTestNode, type TestNode } from '../support/agent-fixture.js';
import { GIB, startTestMember, type TestMember } from '../support/member.js';

let here: TestNode;
let member: TestMember;
beforeAll(async () => {
  here = await startTestNode();
  mkdirSync(join(here.volumeDir, 'model'));
  member = await startTestMember(here);
});
afterAll(async () => {
  member.keeper.close();
  const { violations } = here.api;
  await here.close();
  expect(violations).toEqual([]);
});

const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 30_000, interval: 30 });
const seq = 1;
const start = (instanceId: string) => member.run('startEngine', { instanceId, seq });
const sleep = (instanceId: string) => member.run('sleepEngine', { instanceId, seq });
const wake = (instanceId: string, plannedBytes = 2 * GIB) =>
  member.run('wakeEngine', { instanceId, seq, plannedBytes });
const stop = (instanceId: string) => member.run('stopEngine', { instanceId, seq, drainSeconds: 2 });
const limits = (stage: 'lower' | 'raise', turn: number, writes: readonly (readonly [string, number])[]) =>
  member.run('setLimits', {
    memberSessionId: member.anchor.sessionId,
    turn,
    stage,
    writes: writes.map(([instanceId, toBytes]) => ({ instanceId, toBytes })),
  });

async function started(simulated: readonly string[] = []): Promise<{ readonly id: string; readonly port: number }> {
  const { instanceId: id } = member.order({}, simulated);
  const result = await start(id);
  if (result.outcome !== 'ready') throw new Error(JSON.stringify(result));
  return { id, port: result.port };
}
const containerOf = async (id: string) =>
  (await listContainers(`berth.instance=${id}`)).find(({ name }) => name === engineName(id));
const outcomes = (results: readonly OrderResult[]): readonly string[] => results.map(({ outcome }) => outcome);

describe('an engine beside its anchor', () => {
  test('starts under the limit that its segment had before it, sleeps, wakes and ends; each order run twice is one', async () => {
    const { instanceId: id } = member.order();
    expect(await limits('raise', 1, [[id, GIB]])).toEqual([{ instanceId: id, limitBytes: GIB, kvUsedBytes: 0 }]);
    const [first, second] = await Promise.all([start(id), start(id)]);
    expect(first).toMatchObject({ outcome: 'ready', limitBytes: GIB, kvUsedBytes: 0, host: '127.0.0.1' });
    expect({ ...second, tookMs: 0 }).toEqual({ ...first, tookMs: 0 });
    const asleep = await sleep(id);
    expect(asleep).toMatchObject({ outcome: 'asleep', residueBytes: 256 * 2 ** 20 });
    expect(await sleep(id)).toMatchObject({ outcome: 'asleep', residueBytes: 256 * 2 ** 20 });
    expect(await wake(id, GIB)).toMatchObject({ outcome: 'ready', limitBytes: GIB });
    expect(await wake(id, GIB)).toMatchObject({ outcome: 'ready', limitBytes: GIB });
    expect(outcomes([await stop(id), await stop(id)])).toEqual(['gone', 'gone']);
    expect(await containerOf(id)).toBeUndefined();
    expect(await member.keeper.get(segmentName(id))).toBeUndefined();
  });

  test('one that serves is not slept; it drains for its end', async () => {
    const { id, port } = await started();
    await member.tell(port, { running: 3 });
    expect(await sleep(id)).toEqual({ outcome: 'busy', running: 3, waiting: 0 });
    const ending = stop(id);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(await containerOf(id)).toBeDefined();
    await member.tell(port, { running: 0 });
    expect(await ending).toEqual({ outcome: 'gone' });
  });

  test('a load that cannot be read is not idle, and is told as null; a drop too small to believe is no residue', async () => {
    const { id, port } = await started();
    await member.tell(port, { metricsFail: true });
    expect(await sleep(id)).toEqual({ outcome: 'busy', running: null, waiting: null });
    await eventually(() =>
      expect(member.lastLook(id)).toMatchObject({ state: 'ready', running: null, completed: null }),
    );
    await member.tell(port, { metricsFail: false, sleepLeavesTooMuch: true });
    expect(await sleep(id)).toMatchObject({ outcome: 'asleep', residueBytes: null });
    await stop(id);
  });

  test('what the ledger does not give starts nothing; arguments that the engine refuses are the claim’s', async () => {
    expect(await start('ins-unknown')).toEqual({ outcome: 'gone' });
    const { instanceId } = member.order({}, ['--simulated-nonsense', '1']);
    expect(await start(instanceId)).toMatchObject({ outcome: 'failed', whose: 'claim' });
    expect(await containerOf(instanceId)).toBeUndefined();
  });
});

describe('limits', () => {
  test('are lowered, read back and raised; an earlier turn and a segment that is not there change nothing', async () => {
    const [a, b] = [await started(), await started()];
    expect(await limits('lower', 20, [[a.id, GIB]])).toEqual([{ instanceId: a.id, limitBytes: GIB, kvUsedBytes: 0 }]);
    expect(await limits('raise', 20, [[b.id, 3 * GIB]])).toMatchObject([{ limitBytes: 3 * GIB }]);
    expect(await limits('raise', 19, [[a.id, 9 * GIB]])).toMatchObject([{ limitBytes: GIB }]);
    expect(await limits('lower', 21, [['ins-none', GIB]])).toMatchObject([{ limitBytes: null, kvUsedBytes: null }]);
    await Promise.all([stop(a.id), stop(b.id)]);
  });

  test('a write that reaches nothing is seen, and the neighbours on its device are not raised', async () => {
    const [liar, b] = [await started(['--simulated-limit-lie', 'revert']), await started()];
    await limits('lower', 30, [[liar.id, GIB]]);
    await eventually(async () => expect((await member.keeper.get(segmentName(liar.id)))?.limitBytes).toBe(2 * GIB));
    expect(await limits('raise', 30, [[b.id, 3 * GIB]])).toMatchObject([{ limitBytes: 2 * GIB }]);
    await eventually(() => expect(member.lastLook(liar.id)?.limitBytes).toBe(2 * GIB));
    await Promise.all([stop(liar.id), stop(b.id)]);
  });
});

describe('a crash', () => {
  test('is told, and the engine is started again under its limit; its neighbour goes on', async () => {
    // it takes longer than the time between two looks, so that one sees it come back
    const [a, b] = [await started(['--simulated-start-seconds', '1']), await started()];
    const before = await containerOf(b.id);
    await limits('lower', 40, [[a.id, GIB]]);
    await member.tell(a.port, { crash: true });
    await eventually(() =>
      expect(member.lastLook(a.id)).toMatchObject({ state: 'ready', restarts: 1, limitBytes: GIB }),
    );
    const states = here.api.looks.flatMap(({ engines }) => engines.filter(({ instanceId }) => instanceId === a.id));
    const unready = states.slice(states.findIndex(({ state }) => state === 'ready')).map(({ state }) => state);
    expect(unready.some((state) => state === 'restarting' || state === 'starting')).toBe(true);
    expect(await containerOf(b.id)).toEqual(before);
    expect(await member.run('sleepEngine', { instanceId: a.id, seq })).toMatchObject({
      outcome: 'asleep',
    });
    await member.tell(a.port, { crash: true }); // asleep, it has given its memory away
    await eventually(() => expect(member.lastLook(a.id)).toMatchObject({ state: 'exited', restarts: 1 }));
    await Promise.all([stop(a.id), stop(b.id)]);
  });

  test('again and again ends in a failed start, and nothing is left', async () => {
    const { instanceId } = member.order({}, ['--simulated-crash-at-start', '9']);
    expect(await start(instanceId)).toMatchObject({ outcome: 'failed', whose: 'node' });
    expect(await containerOf(instanceId)).toBeUndefined();
  });
});

describe('a restarted agent', () => {
  test('goes on with the crashes that it knew: no budget is refilled, and none is used up twice', async () => {
    const a = await started();
    const restarts = async (times: number) => {
      await member.tell(a.port, { crash: true });
      await eventually(() => expect(member.lastLook(a.id)).toMatchObject({ state: 'ready', restarts: times }));
    };
    await restarts(1);
    await member.restartAgent();
    await eventually(() => expect(member.lastLook(a.id)).toMatchObject({ state: 'ready', restarts: 1 }));
    for (const times of [2, 3, 4, 5]) await restarts(times);
    await member.tell(a.port, { crash: true });
    await eventually(() =>
      expect(member.lastLook(a.id)).toMatchObject({ state: 'exited', message: expect.stringMatching(/too often/) }),
    );
    await stop(a.id);
  });

  test('finds its engines again, one that was loading, too; what the ledger does not know goes', async () => {
    const [a, lost] = [await started(), await started()];
    const loading = member.order({}, ['--simulated-start-seconds', '2']);
    const cut = start(loading.instanceId).catch(() => 'cut');
    await eventually(async () => expect((await containerOf(loading.instanceId))?.state).toBe('running'));
    await sleep(a.id);
    member.agent.environment.cancel();
    await cut;
    await member.restartAgent();
    expect(await start(loading.instanceId)).toMatchObject({ outcome: 'ready' });
    expect(await wake(a.id)).toMatchObject({ outcome: 'ready', port: a.port });
    here.api.engineOrders.delete(lost.id);
    await eventually(async () => expect(await containerOf(lost.id)).toBeUndefined());
    await member.agent.remove([member.anchor]);
    expect(await listContainers(`berth.node=${here.node}`)).toEqual([]);
  });
});
