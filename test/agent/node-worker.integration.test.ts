import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { containerName } from '../../src/agent/kernel-container.js';
import { listContainers } from '../support/docker.js';
import { eventually, freePort, spawnTied } from '../support/process.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';
import { startTestNode, type TestNode } from './support/agent-fixture.js';

let here: TestNode;
let temporal: TestTemporal;
let connection: Connection;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  [here, temporal] = await Promise.all([startTestNode(), startTestTemporal()]);
  connection = await Connection.connect({ address: temporal.address });
  const port = await freePort();
  environment = {
    ...process.env,
    BERTH_TEMPORAL_ADDRESS: temporal.address,
    BERTH_API_URL: here.api.url,
    BERTH_NODE_NAME: here.node,
    BERTH_NODE_TOKEN: here.api.token,
    BERTH_NODE_PORT: String(port),
    BERTH_NODE_ADDRESS: `http://127.0.0.1:${port}`,
    BERTH_NODE_CPUS: '4',
    BERTH_NODE_MEMORY_BYTES: String(2 ** 33),
    BERTH_SIMULATED_GPUS: JSON.stringify([{ model: 'T4', memoryBytes: 2 ** 34, count: 4 }]),
    BERTH_NODE_STATE: here.stateDir,
    BERTH_VERIFY_KEY_FILE: join(here.stateDir, 'jwks.json'),
    BERTH_LOG_LEVEL: 'error',
  };
});
afterAll(async () => {
  await connection?.close();
  await here?.close();
  await temporal?.stop();
});

function startWorker(): { child: ChildProcess; output: () => string } {
  let text = '';
  const child = spawnTied(process.execPath, ['--import', 'tsx', 'workers/node.ts'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout?.on('data', (data: Buffer) => (text += data.toString()));
  child.stderr?.on('data', (data: Buffer) => (text += data.toString()));
  return { child, output: () => text };
}

/** An activity that no workflow called: Temporal's stand-alone ones would do, a poll count tells enough here. */
async function pollers(): Promise<number> {
  const queue = await new Client({ connection }).workflowService.describeTaskQueue({
    namespace: temporal.namespace,
    taskQueue: { name: `node/${here.node}` },
    taskQueueType: 2,
  });
  return queue.pollers?.length ?? 0;
}

describe('the node worker', () => {
  test('registers, polls its queue, refuses a second of its name, and ends without its containers', async () => {
    const first = startWorker();
    await eventually(
      'it polls',
      async () => {
        if (first.child.exitCode !== null) throw new Error(first.output());
        return (await pollers()) > 0;
      },
      60,
    );
    const capacity = { cpuMilli: 4000, memoryBytes: 2 ** 33 };
    expect(here.api.registrations.at(-1)).toMatchObject({ capacity, address: '127.0.0.1' });
    expect(here.api.reconciles).toMatchObject([{ starting: true, kernels: [] }]);

    const order = here.order();
    const helper = await here.startAgent();
    await helper.start([order]);
    await helper.stop();

    const second = startWorker();
    const [code] = (await once(second.child, 'exit')) as [number];
    expect(code).toBe(1);
    expect(second.output()).toContain('runs already');

    first.child.kill('SIGTERM');
    const [ended] = (await once(first.child, 'exit')) as [number];
    expect(ended, first.output()).toBe(0);
    expect(await listContainers(`berth.node=${here.node}`)).toMatchObject([
      { name: containerName(order), state: 'running' },
    ]);

    const third = startWorker();
    await eventually('it finds the container', () => (here.api.reconciles.at(-1)?.kernels.length ?? 0) === 1);
    third.child.kill('SIGKILL');
    await once(third.child, 'exit');
    const fourth = startWorker(); // the dead one's lock is taken over
    await eventually('it starts anew', () => here.api.registrations.length >= 4);
    fourth.child.kill('SIGTERM');
    await once(fourth.child, 'exit');
  });
});
