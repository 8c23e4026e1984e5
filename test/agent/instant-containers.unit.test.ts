import { describe, expect, test } from 'vitest';
import { createInstantContainers } from '../../src/agent/instant-containers.js';
import { launchToContainer } from '../../src/agent/launch-to-container.js';
import type { ContainerExit } from '../../src/docker/exits.js';
import { eventually, freePort } from '../support/process.js';
import { launchOrder } from './support/launch-order.js';

const side = { node: 'n', publishAddress: '127.0.0.1', mpsDirectory: '/m', mounts: [], ports: [] };
const spec = (command: string[]) => launchToContainer(launchOrder('img', { command }), side);

describe('the simulated runtime', () => {
  test('runs for as long as its sleep says, tells the exit, and forgets what is removed', async () => {
    const containers = createInstantContainers();
    const exits: ContainerExit[] = [];
    const ending = new AbortController();
    const watch = containers.watchExits({
      labels: { 'berth.node': 'n' },
      signal: ending.signal,
      onReconnect: () => undefined,
      onExit: (exit) => void exits.push(exit),
    });
    const [short, long] = [spec(['sleep', '0.05']), spec(['sleep', 'infinity'])];
    for (const one of [short, long]) await containers.ensureCreated(one);
    for (const one of [short, long, short]) await containers.ensureStarted(one.name);
    await eventually('the short one ends', () => exits.length === 1);
    expect(exits[0]).toMatchObject({ name: short.name, exitCode: 0 });
    expect(await containers.stop(long.name, { graceSeconds: 1 })).toMatchObject({ status: 'exited', exitCode: 143 });
    for (const one of [short, long, long]) await containers.remove(one.name);
    expect(await containers.list({ 'berth.node': 'n' })).toEqual([]);
    ending.abort();
    await watch;
    expect(exits).toHaveLength(2);
  });

  test('answers at the ports that it publishes for as long as it runs; one that is told to end, ends as a crash does', async () => {
    const containers = createInstantContainers();
    const hostPort = await freePort();
    const ports = [{ name: 'web', containerPort: 8000, hostPort }];
    const one = launchToContainer(launchOrder('img', { command: ['sleep', 'infinity'] }), { ...side, ports });
    await containers.ensureCreated(one);
    expect((await containers.ensureStarted(one.name)).ports).toMatchObject([{ containerPort: 8000, hostPort }]);
    const url = `http://127.0.0.1:${hostPort}`;
    expect(await (await fetch(url)).text()).toBe(`${one.name}\n`);
    await expect(fetch(`${url}/end`, { method: 'POST' })).rejects.toThrow('fetch failed');
    expect(await containers.inspect(one.name)).toMatchObject({ status: 'exited', exitCode: 137, ports: [] });
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });
});
