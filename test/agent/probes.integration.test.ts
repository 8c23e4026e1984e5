import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { containerName } from '../../src/agent/kernel-container.js';
import type { LaunchOrder } from '../../src/contract/index.js';
import { eventually } from '../support/process.js';
import { startTestNode, type TestNode } from './support/agent-fixture.js';

let here: TestNode;
beforeEach(async () => {
  here = await startTestNode();
});
afterEach(() => here.close());

const SERVER = 'mkdir -p /tmp/w && touch /tmp/w/ok && sleep 1 && exec httpd -f -p 8080 -h /tmp/w';
const check = {
  path: '/ok',
  port: 8080,
  intervalSeconds: 0.1,
  timeoutSeconds: 2,
  failures: 3,
  initialDelaySeconds: 60,
  refusedIsUnhealthy: false,
};
const service = (): LaunchOrder => here.order({ command: ['sh', '-c', SERVER], healthCheck: check });
const health = () => here.api.reportsOf('health').map(({ level }) => level);

async function inside(order: LaunchOrder, script: string): Promise<void> {
  const frames = here.engine.exec({ name: containerName(order), command: ['sh', '-c', script] });
  for await (const frame of frames) if (frame.stream === 'exit') expect(frame.exitCode).toBe(0);
}

describe('a health check', () => {
  test('tells the first success, the first miss, the failures in a row and the recovery, each once', async () => {
    const { start } = await here.startAgent();
    const order = service();
    await start([order]);
    await eventually('healthy', () => health().length === 1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(health()).toEqual(['healthy']);
    await inside(order, 'mv /tmp/w/ok /tmp/w/away');
    await eventually('unhealthy', () => health().length === 3);
    expect(here.api.reportsOf('health').at(-1)?.message).toContain('status 404');
    await inside(order, 'mv /tmp/w/away /tmp/w/ok');
    await eventually('healthy again', () => health().length === 4);
    expect(health()).toEqual(['healthy', 'degraded', 'unhealthy', 'healthy']);
  });

  test('goes on after a restart of the agent, and is told until the API takes it', async () => {
    const first = await here.startAgent();
    const order = service();
    here.api.mode = 'bad-gateway';
    await first.start([order]);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await first.stop();
    here.api.mode = 'ok';
    expect(health()).toEqual([]);
    await here.startAgent();
    await eventually('healthy', () => health().length === 1);
  });

  test('of a replica whose program is gone is told at once, though the port is published still; its figures are told before', async () => {
    const { start } = await here.startAgent();
    const replica = { ...check, intervalSeconds: 0.5, failures: 1000, refusedIsUnhealthy: true };
    const serve =
      'mkdir -p /tmp/w && touch /tmp/w/ok && echo "waiting{a=\\"1\\"} 2" > /tmp/w/metrics && httpd -p 8080 -h /tmp/w';
    const order = here.order({
      command: ['sh', '-c', `${serve} && sleep 600`],
      ports: [{ name: 'http', containerPort: 8080 }],
      healthCheck: replica,
      metrics: { port: 8080, path: '/metrics', everySeconds: 1 },
    });
    await start([order]);
    await eventually('healthy', () => health().length === 1);
    await eventually('figures', () => here.api.figures.length > 0);
    expect(here.api.figures[0]?.replicas).toMatchObject([{ kernelId: order.kernelId, values: { waiting: 2 } }]);
    await inside(order, 'pkill httpd || killall httpd');
    await eventually('unhealthy', () => health().length === 2);
    expect(health()).toEqual(['healthy', 'unhealthy']);
    expect(here.api.reportsOf('ports')).toMatchObject([{ ports: [{ name: 'http', containerPort: 8080 }] }]);
    expect(here.api.violations).toEqual([]);
  });

  test('that never succeeds says nothing: the session has its own limit for that', async () => {
    const { start } = await here.startAgent();
    await start([here.order({ healthCheck: check })]);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(health()).toEqual([]);
  });
});
