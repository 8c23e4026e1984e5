import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSimulatedProvider } from '../../src/devices/simulated.js';
import { eventually } from '../support/process.js';
import { startTestNode, type TestNode } from './support/agent-fixture.js';

let here: TestNode;
beforeEach(async () => {
  here = await startTestNode();
});
afterEach(() => here.close());

const BUSY = [
  'sh',
  '-c',
  'trap "exit 0" TERM; while :; do i=0; while [ $i -lt 9999 ]; do i=$((i+1)); done; sleep 0.05; done',
];
const settings = { usage: { everyMs: 500 } };

test('real containers are measured by counters that only grow, with the load of simulated devices, also over a kill of the agent', async () => {
  const loads = join(here.stateDir, 'loads.json');
  writeFileSync(loads, JSON.stringify({ 'sim-0': { busyPercent: 40, memoryBytes: 7 } }));
  const devices = createSimulatedProvider([{ model: 'T4', memoryBytes: 2 ** 30, count: 1 }], loads);
  const first = await here.startAgent({ settings, devices });
  const [busy, idle] = [here.order({ command: BUSY }), here.order()];
  await first.start([busy]);
  await first.start([idle]);
  const batches = () => here.api.usages.filter(({ kernels }) => kernels.length === 2);
  await eventually('three batches', () => batches().length >= 3);

  here.api.mode = 'bad-gateway'; // batches are lost, and their sums are not
  await first.stop();
  const toldBefore = here.api.usages.length;
  here.api.mode = 'ok';
  await here.startAgent({ settings, devices });
  await eventually('batches of the new agent', () => here.api.usages.length >= toldBefore + 3);

  const told = here.api.usages.filter(({ kernels }) => kernels.some(({ kernelId }) => kernelId === busy.kernelId));
  const cpu = (kernelId: string) =>
    told.map(({ kernels }) => kernels.find((one) => one.kernelId === kernelId)?.cpuNanoseconds ?? 0);
  const device = told.flatMap(({ devices: all }) => all.filter(({ id }) => id === 'sim-0'));
  for (const counter of [
    cpu(busy.kernelId),
    device.map(({ busyMs }) => busyMs),
    device.map(({ observedMs }) => observedMs),
  ]) {
    expect(counter).toEqual(counter.toSorted((a, b) => a - b));
  }
  const [from = 0, to = 0] = [cpu(busy.kernelId)[0], cpu(busy.kernelId).at(-1)];
  expect(to - from).toBeGreaterThan(50e6);
  expect((cpu(idle.kernelId).at(-1) ?? 0) - (cpu(idle.kernelId).at(-3) ?? 0)).toBeLessThan(50e6);
  const last = device.at(-1);
  expect((last?.busyMs ?? 0) / (last?.observedMs ?? 1)).toBeCloseTo(0.4, 2);
  expect(last?.memoryBytes).toBe(7);
  expect(told.every(({ kernels }) => kernels.every(({ memoryBytes }) => memoryBytes > 0))).toBe(true);
  expect(here.api.violations).toEqual([]);
});
