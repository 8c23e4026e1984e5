import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { containerName, networkName } from '../../src/agent/kernel-container.js';
import { listContainers } from '../support/docker.js';
import { eventually } from '../support/process.js';
import { newSessionId, startTestNode, type TestNode } from './support/agent-fixture.js';
import { nothingToDo } from './support/api-stand-in.js';

/** Two nodes on one machine and engine, each with its own agent, folders and ports. */
let one: TestNode;
let other: TestNode;
beforeEach(async () => {
  [one, other] = await Promise.all([startTestNode(), startTestNode()]);
});
afterEach(async () => {
  const violations = [...one.api.violations, ...other.api.violations];
  await Promise.all([one.close(), other.close()]);
  expect(violations).toEqual([]);
});

const running = async (node: TestNode) =>
  (await listContainers(`berth.node=${node.node}`)).filter(({ state }) => state === 'running').map(({ name }) => name);

describe('two agents on one engine', () => {
  test('each list, reconcile and remove their own containers, and neither those of the other', async () => {
    const [first, second] = [await one.startAgent(), await other.startAgent()];
    const [mine, theirs] = [one.order(), other.order()];
    await first.start([mine]);
    await second.start([theirs]);
    // the ledger of the first names everything, also what it never gave to that node
    const all = [mine, theirs].map(({ kernelId, attempt }) => ({ kernelId, attempt }));
    one.api.answer = () => ({ ...nothingToDo, remove: all });
    await first.agent.afterSilence(new AbortController().signal);
    expect(one.api.reconciles.at(-1)?.kernels.map(({ kernelId }) => kernelId)).toEqual([mine.kernelId]);
    expect(await running(one)).toEqual([]);
    expect(await running(other)).toEqual([containerName(theirs)]);
    const told = (node: TestNode) => node.api.reportsOf('exited').map(({ kernelId }) => kernelId);
    expect([told(one), told(other)]).toEqual([[mine.kernelId], []]);
  });

  test('a container of the other is neither told, nor removed, nor kept waiting', async () => {
    const [first, second] = [await one.startAgent(), await other.startAgent()];
    const theirs = other.order();
    await second.start([theirs]);
    await first.remove([theirs]); // an order for another node that went astray
    await first.agent.notice({ ...theirs, kernelIds: [theirs.kernelId], graceMs: 1_000 });
    expect(await running(other)).toEqual([containerName(theirs)]);
  });

  test('share a port range, and never a port', async () => {
    const portRange = { first: 43_210, last: 43_240 };
    const [first, second] = await Promise.all([
      one.startAgent({ settings: { portRange } }),
      other.startAgent({ settings: { portRange } }),
    ]);
    const ports = [{ name: 'http', containerPort: 80 }];
    const orders = [1, 2, 3].map(() => [one.order({ ports }), other.order({ ports })] as const);
    for (const [mine, theirs] of orders) await Promise.all([first.start([mine]), second.start([theirs])]);
    expect([(await running(one)).length, (await running(other)).length]).toEqual([3, 3]);
    const taken = [one, other].flatMap((node) => node.api.reportsOf('ports').flatMap((report) => report.ports));
    expect(new Set(taken.map(({ hostPort }) => hostPort)).size).toBe(6);
  });

  test('kernels of one session meet in its network, which goes with the last of them', async () => {
    const [first, second] = [await one.startAgent(), await other.startAgent()];
    const sessionId = newSessionId();
    const both = { sessionId, size: 2 };
    const mine = one.order(both);
    const theirs = other.order({ ...both, rank: 1, role: 'worker1', hostname: 'worker1' });
    await Promise.all([first.start([mine]), second.start([theirs])]);
    const networks = async () =>
      (await one.engine.listNetworks({ 'berth.session': sessionId })).map(({ name }) => name);
    expect(await networks()).toEqual([networkName(sessionId)]);
    await first.remove([mine]);
    expect(await networks()).toEqual([networkName(sessionId)]);
    expect(await running(other)).toEqual([containerName(theirs)]);
    await second.remove([theirs]);
    await eventually('it is gone', async () => (await networks()).length === 0);
  });
});
