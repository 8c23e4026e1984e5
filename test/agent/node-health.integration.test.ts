import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { WarmImages } from '../../activities/node/node-activities.js';
import type { HealthSettings } from '../../src/agent/node-health.js';
import { DeviceFailure, type DeviceFault, type DeviceProvider } from '../../src/devices/device-provider.js';
import { createSimulatedProvider } from '../../src/devices/simulated.js';
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

const latest = () => here.api.healths.at(-1);
const start = (health: HealthSettings, devices?: DeviceProvider) =>
  here.startAgent({ settings: { health }, ...(devices && { devices }) });
const check = (script: string, failures = 1) => ({
  ...{ command: ['sh', '-c', script], intervalSeconds: 0.1, timeoutSeconds: 5, failures },
});

/** Simulated devices whose faults a test sets: no machine here has a real one to break. */
function breakable() {
  const sound = createSimulatedProvider([{ model: 'T4', memoryBytes: 2 ** 30, count: 2 }]);
  const state: { now: readonly DeviceFault[] | 'driver gone' } = { now: [] };
  const faults: DeviceProvider['faults'] = async () => {
    if (state.now === 'driver gone') throw new DeviceFailure('nvidia-smi failed (9)');
    return state.now;
  };
  return { state, devices: { ...sound, faults } };
}

describe('the health of a node', () => {
  test('is told after it registered, with the images that it holds, which its registration named, too', async () => {
    await start({});
    await eventually('it is told', () => here.api.healths.length > 0);
    expect(latest()).toMatchObject({ healthy: true, reason: '', unhealthyDevices: [] });
    expect(latest()?.images).toContain(here.busybox);
    expect(here.api.registrations.at(-1)).toMatchObject({ images: expect.arrayContaining([here.busybox]) });
  });

  test('is told again and again, also when nothing changed', async () => {
    await start({ reportEveryMs: 100 });
    await eventually('three times', () => here.api.healths.length >= 3);
    expect(new Set(here.api.healths.map(({ healthy }) => healthy))).toEqual(new Set([true]));
  });

  test('follows a check: failures in a row make it unhealthy, one success healthy', async () => {
    const broken = join(here.stateDir, 'broken');
    const count = join(here.stateDir, 'count');
    const script = `test -e ${broken} || exit 0; echo x >> ${count}; echo no disk; exit 4`;
    await start({ check: check(script, 3) });
    await eventually('it is told', () => here.api.healths.length > 0);
    writeFileSync(broken, '');
    await eventually('it is unhealthy', () => latest()?.healthy === false);
    expect(latest()?.reason).toBe('sh exited with 4: no disk');
    expect(existsSync(count)).toBe(true);
    rmSync(broken);
    await eventually('it is healthy', () => latest()?.healthy === true);
  });

  test('stays good while fewer checks in a row fail than it takes', async () => {
    const flip = join(here.stateDir, 'flip');
    const script = `if test -e ${flip}; then rm ${flip}; exit 0; else touch ${flip}; exit 1; fi`;
    await start({ check: check(script, 2), reportEveryMs: 100 });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(here.api.healths.every(({ healthy }) => healthy)).toBe(true);
  });

  test('names a device that breaks, and the node stays in use', async () => {
    const { state, devices } = breakable();
    await start({ devicesEveryMs: 100 }, devices);
    await eventually('it is told', () => here.api.healths.length > 0);
    state.now = [{ id: 'sim-1', reason: 'Xid 79: it has fallen off the bus' }];
    await eventually('it is told', () => latest()?.unhealthyDevices.length === 1);
    expect(latest()).toMatchObject({ healthy: true, unhealthyDevices: state.now });
    state.now = [];
    await eventually('it is mended', () => latest()?.unhealthyDevices.length === 0);
  });

  test('is bad when the driver no longer answers', async () => {
    const { state, devices } = breakable();
    await start({ devicesEveryMs: 100 }, devices);
    state.now = 'driver gone';
    await eventually('it is unhealthy', () => latest()?.healthy === false);
    expect(latest()?.reason).toBe('nvidia-smi failed (9)');
  });

  test('is told at once when images came, and later when the API was away', async () => {
    const { activities, environment } = await start({});
    await eventually('it is told', () => here.api.healths.length === 1);
    const failing = environment.run((input: WarmImages) => activities.warm(input), { images: ['localhost:1/x/y:1'] });
    await expect(failing).rejects.toThrow('localhost:1/x/y:1');
    await eventually('it is told again', () => here.api.healths.length === 2);
  });
});
