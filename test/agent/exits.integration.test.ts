import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { engine } from '../../infra/setup/docker.mjs';
import { containerName } from '../../src/agent/kernel-container.js';
import type { LaunchOrder } from '../../src/contract/index.js';
import { listContainers } from '../support/docker.js';
import { eventually } from '../support/process.js';
import { startTestNode, type TestNode } from './support/agent-fixture.js';

let here: TestNode;
beforeEach(async () => {
  here = await startTestNode();
});
afterEach(async () => {
  const { violations } = here.api;
  await here.close();
  expect(violations).toEqual([]);
});

const says = (script: string): Partial<LaunchOrder> => ({ command: ['sh', '-c', script] });
const containersHere = () => listContainers(`berth.node=${here.node}`);
const exits = () => here.api.reportsOf('exited');
const exitOf = (order: LaunchOrder) => exits().find(({ kernelId }) => kernelId === order.kernelId);

async function toldExit(order: LaunchOrder) {
  await eventually('the exit is told', () => exitOf(order) !== undefined);
  return exitOf(order)!;
}

describe('an exit', () => {
  test('is told with code and the end of the output, also when that is no text', async () => {
    const { start } = await here.startAgent();
    const order = here.order(says("echo out; echo err >&2; printf 'a\\000b\\377\\n'; exit 3"));
    await start([order]);
    const exit = await toldExit(order);
    expect(exit).toMatchObject({ exitCode: 3, oomKilled: false, engineLost: false, attempt: 1 });
    expect(exit.logTail).toContain('out\n');
    expect(exit.logTail).toContain('err\n');
    expect(exit.logTail).toContain('a\uFFFDb\uFFFD');
  });

  test('that came while no agent ran is told by the next one', async () => {
    const first = await here.startAgent();
    const order = here.order(says('sleep 1; exit 4'));
    await first.start([order]);
    await first.stop();
    await eventually('it ended', async () => (await containersHere())[0]?.state === 'exited');
    expect(exits()).toEqual([]);
    await here.startAgent();
    expect(await toldExit(order)).toMatchObject({ exitCode: 4, engineLost: false });
  });

  test('by SIGKILL from nowhere while nobody listened is the loss of the engine', async () => {
    const first = await here.startAgent();
    const order = here.order(says('sleep 600'));
    await first.start([order]);
    await first.stop();
    await engine('POST', `/containers/${containerName(order)}/kill`);
    await here.startAgent();
    expect(await toldExit(order)).toMatchObject({ exitCode: 137, engineLost: true });
  });

  test('by SIGKILL from nowhere under a living engine is the container its own', async () => {
    const { start } = await here.startAgent();
    const order = here.order(says('sleep 600'));
    await start([order]);
    await engine('POST', `/containers/${containerName(order)}/kill`);
    expect(await toldExit(order)).toMatchObject({ exitCode: 137, engineLost: false });
  });

  test('that the API could not take is told until it can', async () => {
    const { start } = await here.startAgent();
    const order = here.order(says('exit 5'));
    here.api.mode = 'bad-gateway';
    await start([order]);
    await eventually('it ended', async () => (await containersHere())[0]?.state === 'exited');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(exits()).toEqual([]);
    here.api.mode = 'ok';
    expect(await toldExit(order)).toMatchObject({ exitCode: 5 });
  });
});

describe('removeKernels', () => {
  test('stops with a notice, and the exit is the one that the program chose', async () => {
    const { start, remove } = await here.startAgent();
    const order = here.order(says('trap "echo bye; exit 9" TERM; echo ready; sleep 600 & wait'));
    await start([order]);
    await eventually('it is ready', async () => (await savedOrLive(order)).includes('ready'));
    await remove([order], 10_000);
    expect(exitOf(order)).toMatchObject({ exitCode: 9, engineLost: false });
    expect(await containersHere()).toEqual([]);
  });

  test('kills after the grace period, and run twice it is success', async () => {
    const { start, remove } = await here.startAgent();
    const order = here.order(says('trap "" TERM; while true; do sleep 1; done'));
    await start([order]);
    await remove([order], 500);
    await remove([order], 500);
    expect(exits().map(({ exitCode, engineLost }) => [exitCode, engineLost])).toEqual([[137, false]]);
    expect(await containersHere()).toEqual([]);
  });

  test('of what never was is success', async () => {
    const { remove } = await here.startAgent();
    await remove([here.order()]);
    expect(exits()).toEqual([]);
  });

  test('waits for the acknowledgement: the container stays while the API is away', async () => {
    const { start, remove } = await here.startAgent();
    const order = here.order(says('exit 6'));
    await start([order]);
    here.api.mode = 'bad-gateway';
    here.api.reports.length = 0;
    const other = here.order(says('sleep 600'));
    await start([other]);
    const removal = remove([other]);
    await eventually('it is stopped', async () => (await stateOf(other)) === 'exited');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await stateOf(other)).toBe('exited');
    here.api.mode = 'ok';
    await removal;
    expect(await stateOf(other)).toBeUndefined();
    expect(exitOf(other)).toMatchObject({ exitCode: 137, engineLost: false });
  });

  test('an agent that dies between SIGTERM and the end does not blame the engine', async () => {
    const first = await here.startAgent();
    const order = here.order(says('trap "sleep 1; exit 143" TERM; echo ready; sleep 600 & wait'));
    await first.start([order]);
    await eventually('it is ready', async () => (await savedOrLive(order)).includes('ready'));
    here.api.mode = 'hang';
    void first.remove([order], 20_000).catch(() => undefined);
    await eventually('it ended', async () => (await stateOf(order)) === 'exited');
    here.api.mode = 'ok';
    here.api.reports.length = 0;
    await first.stop();
    await here.startAgent();
    expect(await toldExit(order)).toMatchObject({ exitCode: 143, engineLost: false });
  });
});

async function stateOf(order: LaunchOrder): Promise<string | undefined> {
  return (await containersHere()).find(({ name }) => name === containerName(order))?.state;
}

async function savedOrLive(order: LaunchOrder): Promise<string> {
  let text = '';
  for await (const { data } of here.engine.logs(containerName(order))) text += data.toString();
  return text;
}
