import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { containerName } from '../../src/agent/kernel-container.js';
import type { LaunchOrder } from '../../src/contract/index.js';
import { eventually } from '../support/process.js';
import { startTestNode, type TestNode } from './support/agent-fixture.js';
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

const settings = { contactCheckEveryMs: 100, health: { reportEveryMs: 200 } };
const retryable = { retryable: true, contactLimitSeconds: 2, gracePeriodSeconds: 1 };
const statusOf = async (order: LaunchOrder) => (await here.engine.inspect(containerName(order)))?.status;
const hasEnded = (order: LaunchOrder) => async () => (await statusOf(order)) === 'exited';
const exitOf = ({ kernelId }: LaunchOrder) => here.api.reportsOf('exited').find((exit) => exit.kernelId === kernelId);
const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

describe('an agent that is out of contact', () => {
  test('stops what may be started elsewhere, in its limit, and nothing else', async () => {
    const { start } = await here.startAgent({ settings });
    const [moved, later, kept] = [
      here.order(retryable),
      here.order({ ...retryable, contactLimitSeconds: 3600 }),
      here.order({ ...retryable, retryable: false }),
    ];
    for (const order of [moved, later, kept]) await start([order]);
    await wait(2_500); // in contact for longer than the limit: nothing happens
    expect(await statusOf(moved)).toBe('running');
    here.api.mode = 'bad-gateway';
    const cutAt = performance.now();
    await eventually('it is stopped', hasEnded(moved));
    expect(performance.now() - cutAt).toBeGreaterThan(1_500);
    expect(performance.now() - cutAt).toBeLessThan(8_000);
    expect([await statusOf(later), await statusOf(kept)]).toEqual(['running', 'running']);
  });

  test('tells the exit as the loss of its machine once contact returns, and removes what the ledger names then', async () => {
    const { agent, start } = await here.startAgent({ settings });
    const order = here.order({ ...retryable, command: ['sh', '-c', 'trap "exit 0" TERM; sleep 600 & wait'] });
    await start([order]);
    here.api.mode = 'hang';
    await eventually('it is stopped', hasEnded(order));
    expect(exitOf(order)).toBeUndefined();
    const { kernelId, attempt } = order;
    here.api.answer = () => ({ ...nothingToDo, remove: [{ kernelId, attempt }] });
    here.api.mode = 'ok';
    await eventually('the exit is told', () => exitOf(order) !== undefined, 40);
    expect(exitOf(order)).toMatchObject({ engineLost: true });
    await agent.afterSilence(new AbortController().signal);
    expect(await statusOf(order)).toBeUndefined();
  });

  test('kills what does not end within its grace', async () => {
    const { start } = await here.startAgent({ settings });
    const order = here.order({ ...retryable, command: ['sh', '-c', 'trap "" TERM; while :; do sleep 1; done'] });
    await start([order]);
    here.api.mode = 'bad-gateway';
    await eventually('it is killed', hasEnded(order));
    expect((await here.engine.inspect(containerName(order)))?.exitCode).toBe(137);
  });

  test('that is restarted meanwhile counts on from the last contact', async () => {
    const first = await here.startAgent({ settings });
    const order = here.order({ ...retryable, contactLimitSeconds: 600 });
    await first.start([order]);
    await first.stop();
    const file = join(here.stateDir, 'contact');
    expect(Number(readFileSync(file, 'utf8'))).toBeGreaterThan(Date.now() - 20_000);
    writeFileSync(file, String(Date.now() - 601_000));
    here.api.mode = 'bad-gateway';
    const second = here.startAgent({ settings }).catch(() => undefined);
    await eventually('it is stopped', hasEnded(order));
    here.api.mode = 'ok';
    await second;
    await eventually('the exit is told', () => exitOf(order) !== undefined);
  });

  test('with the API, while Temporal hears its beat, stops nothing: the ledger counts on the beat', async () => {
    const { activities, start } = await here.startAgent({ settings });
    const environment = new MockActivityEnvironment({ heartbeatTimeoutMs: 1_000 });
    const order = here.order(retryable);
    await start([order]);
    const presence = environment.run((node: string) => activities.presence(node), here.node);
    await eventually('it reconciled', () => here.api.reconciles.length >= 2);
    await wait(1_500);
    here.api.mode = 'bad-gateway';
    await wait(4_000);
    expect(await statusOf(order)).toBe('running');
    environment.cancel();
    await expect(presence).rejects.toThrow();
    await eventually('it is stopped without a beat', hasEnded(order));
  });
});
