import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { NoticeKernels } from '../../activities/node/node-activities.js';
import { containerName } from '../../src/agent/kernel-container.js';
import type { LaunchOrder } from '../../src/contract/index.js';
import { listContainers } from '../support/docker.js';
import { eventually } from '../support/process.js';
import { newSessionId, removeInput, startTestNode, type TestAgent, type TestNode } from './support/agent-fixture.js';

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
/** Says each signal that it gets and goes on; ready once it says so. */
const hears = says('trap "echo TERM" TERM; trap "echo USR1" USR1; echo ready; while :; do sleep 0.1; done');
const checkpoint = (script: string): Partial<LaunchOrder> => ({
  notice: { signal: 'SIGUSR1', command: ['sh', '-c', script] },
});

const notice = ({ activities, environment }: TestAgent, orders: readonly LaunchOrder[], graceMs = 5_000) =>
  environment.run((input: NoticeKernels) => activities.notice(input), removeInput(orders, graceMs));

async function logOf(order: LaunchOrder): Promise<string> {
  let text = '';
  for await (const { data } of here.engine.logs(containerName(order))) text += data.toString();
  return text;
}
const itSays = (order: LaunchOrder, word: string) =>
  eventually(`it says ${word}`, async () => (await logOf(order)).includes(word));

async function started(agent: TestAgent, changes: Partial<LaunchOrder>): Promise<LaunchOrder> {
  const order = here.order(changes);
  await agent.start([order]);
  await itSays(order, 'ready');
  return order;
}

describe('a notice', () => {
  test.each([
    ['SIGTERM', 'TERM'],
    ['SIGUSR1', 'USR1'],
  ] as const)('is the signal of the request: %s', async (signal, word) => {
    const agent = await here.startAgent();
    const order = await started(agent, { ...hears, notice: { signal } });
    await notice(agent, [order]);
    await itSays(order, word);
    expect((await here.engine.inspect(containerName(order)))?.status).toBe('running');
  });

  test('given twice is given once, also by an agent that was restarted meanwhile', async () => {
    const first = await here.startAgent();
    const order = await started(first, hears);
    await Promise.all([notice(first, [order]), notice(first, [order])]);
    await notice(first, [order]);
    await first.stop();
    await notice(await here.startAgent(), [order]);
    await itSays(order, 'TERM');
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect((await logOf(order)).match(/TERM/g)).toHaveLength(1);
  });

  test('of an attempt says nothing to the next one', async () => {
    const agent = await here.startAgent();
    const order = await started(agent, hears);
    await notice(agent, [order]);
    await agent.remove([order]);
    const again = { ...order, attempt: 2 };
    here.api.orders.set(`${again.kernelId}-2`, again);
    await agent.start([again]);
    await itSays(again, 'ready');
    await notice(agent, [again]);
    await itSays(again, 'TERM');
  });

  test('is the checkpoint command where there is one, in the main kernel alone, with the time that it has', async () => {
    const agent = await here.startAgent();
    const script = 'echo "saved in $BERTH_NOTICE_SECONDS s" > /tmp/saved; cat /tmp/saved > /proc/1/fd/1';
    const both = { sessionId: newSessionId(), size: 2, ...hears, ...checkpoint(script) };
    const main = here.order(both);
    const worker = here.order({ ...both, rank: 1, role: 'worker1', hostname: 'worker1' });
    await agent.start([main, worker]);
    await itSays(worker, 'ready');
    await notice(agent, [main, worker], 7_000);
    let saved = '';
    await eventually('it saved', async () => {
      saved = await outputOf(main, ['cat', '/tmp/saved']);
      return saved !== '';
    });
    expect(saved).toBe('saved in 7 s\n');
    await new Promise((resolve) => setTimeout(resolve, 300));
    for (const order of [main, worker]) expect(await logOf(order)).not.toMatch(/TERM|USR1/);
  });

  test('returns when the checkpoint has begun, and the kernel may end by itself with it', async () => {
    const agent = await here.startAgent();
    const order = await started(agent, { ...hears, ...checkpoint('sleep 1; touch /tmp/done; kill -9 -1') });
    const begun = performance.now();
    await notice(agent, [order]);
    expect(performance.now() - begun).toBeLessThan(900);
    await eventually('it is told', () => here.api.reportsOf('exited').length === 1);
    expect(here.api.reportsOf('exited')).toMatchObject([{ engineLost: false }]);
  });

  test('by a command that cannot be run is the signal', async () => {
    const agent = await here.startAgent();
    const order = await started(agent, { ...hears, notice: { signal: 'SIGUSR1', command: ['/no/such'] } });
    await notice(agent, [order]);
    await itSays(order, 'USR1');
  });

  test('to what has ended, or never was, is success', async () => {
    const agent = await here.startAgent();
    const ended = here.order({ ...says('exit 3'), ...checkpoint('true') });
    await agent.start([ended]);
    await eventually('it ended', () => here.api.reportsOf('exited').length === 1);
    await notice(agent, [ended]);
    await notice(agent, [here.order()]);
  });

  test('then a removal with what is left of the grace kills', async () => {
    const agent = await here.startAgent();
    const order = await started(agent, hears);
    await notice(agent, [order]);
    await agent.remove([order], 0);
    expect(here.api.reportsOf('exited')).toMatchObject([{ exitCode: 137, engineLost: false }]);
    expect(await listContainers(`berth.node=${here.node}`)).toEqual([]);
  });

  test('that a program ends with is not called a loss of the engine, although nobody listened', async () => {
    const first = await here.startAgent();
    const order = await started(first, says('trap "sleep 1; exit 143" TERM; echo ready; sleep 600 & wait'));
    await notice(first, [order]);
    await first.stop();
    await eventually('it ended', async () => (await here.engine.inspect(containerName(order)))?.status === 'exited');
    await here.startAgent();
    await eventually('it is told', () => here.api.reportsOf('exited').length > 0);
    expect(here.api.reportsOf('exited')).toMatchObject([{ exitCode: 143, engineLost: false }]);
  });
});

async function outputOf(order: LaunchOrder, command: readonly string[]): Promise<string> {
  let text = '';
  for await (const frame of here.engine.exec({ name: containerName(order), command })) {
    if (frame.stream === 'stdout') text += frame.data.toString();
  }
  return text;
}
