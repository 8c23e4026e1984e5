import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { containerName, networkName } from '../../src/agent/kernel-container.js';
import { listContainers } from '../support/docker.js';
import { eventually } from '../support/process.js';
import { newSessionId, startTestNode, type TestNode } from './support/agent-fixture.js';
import { nothingToDo } from './support/api-stand-in.js';

let here: TestNode;
beforeEach(async () => {
  here = await startTestNode();
});
afterEach(async () => {
  const { violations } = here.api;
  await here.close();
  expect(violations).toEqual([]);
});

const names = async () => (await listContainers(`berth.node=${here.node}`)).map(({ name }) => name).sort();

describe('reconciliation', () => {
  test('registers what was found, and tells at its start which containers there are', async () => {
    const first = await here.startAgent();
    const order = here.order({ epoch: 3 });
    await first.start([order]);
    await first.stop();
    await here.startAgent();
    expect(here.api.registrations.at(-1)).toMatchObject({
      devices: [{ id: 'sim-0', simulated: true }, { id: 'sim-1' }],
    });
    const { sessionId, kernelId } = order;
    const kernels = [{ kernelId, sessionId, attempt: 1, epoch: 3, state: 'running' }];
    expect(here.api.reconciles.at(-1)).toEqual({ starting: true, kernels });
  });

  test('removes what the ledger names, and keeps a newborn that is newer than its list', async () => {
    const first = await here.startAgent();
    const [orphan, newborn, owned] = [here.order({ epoch: 1 }), here.order({ epoch: 3 }), here.order({ epoch: 2 })];
    await first.start([orphan]);
    await first.start([newborn]);
    await first.start([owned]);
    await first.stop();
    const remove = [orphan, newborn].map(({ kernelId, attempt }) => ({ kernelId, attempt }));
    here.api.answer = () => ({ ...nothingToDo, epoch: 2, remove });
    await here.startAgent();
    expect(await names()).toEqual([newborn, owned].map(containerName).sort());
    expect(here.api.reportsOf('exited').map(({ kernelId }) => kernelId)).toEqual([orphan.kernelId]);
  });

  test('asks the API only when the inventory differs from the last acknowledged one', async () => {
    const { start } = await here.startAgent({ settings: { reconcileEveryMs: 100 } });
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(here.api.reconciles).toHaveLength(1);
    await start([here.order()]);
    await eventually('one more round', () => here.api.reconciles.length > 1);
    expect(here.api.reconciles.at(-1)).toMatchObject({ starting: false, kernels: [{ epoch: 1 }] });
  });

  test('starts anew when the ledger says LOST', async () => {
    const { agent } = await here.startAgent();
    here.api.answer = ({ starting }) => ({ ...nothingToDo, state: starting ? 'READY' : 'LOST' });
    await agent.afterSilence(new AbortController().signal);
    expect(here.api.reconciles.map(({ starting }) => starting)).toEqual([true, false, true]);
  });

  test('a network of no session goes, once it was empty twice', async () => {
    const sessionId = newSessionId();
    await here.engine.ensureNetwork(networkName(sessionId), {
      labels: { 'berth.node': here.node, 'berth.session': sessionId },
    });
    await here.startAgent({ settings: { reconcileEveryMs: 100 } });
    const networks = () => here.engine.listNetworks({ 'berth.session': sessionId });
    await eventually('it is gone', async () => (await networks()).length === 0);
  });

  test('presence beats, reconciles after a silence, and stops no container when it is cancelled', async () => {
    const { activities, environment, start } = await here.startAgent();
    await start([here.order()]);
    let beats = 0;
    environment.on('heartbeat', () => (beats += 1));
    const presence = environment.run((node: string) => activities.presence(node), here.node);
    await eventually('it beats and reconciles', () => beats > 0 && here.api.reconciles.length === 2);
    environment.cancel();
    await expect(presence).rejects.toThrow();
    expect(await listContainers(`berth.node=${here.node}`)).toMatchObject([{ state: 'running' }]);
  });
});
