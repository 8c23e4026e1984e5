import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDeviceCounters } from '../../src/agent/device-counters.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-counters-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const load = (busyPercent: number | null, memoryBytes: number | null = 5) => [{ id: 'a', busyPercent, memoryBytes }];

test('a moment stands for the time since the one before; what is not told is not observed', async () => {
  const counters = await openDeviceCounters(directory);
  counters.add(load(90), 0);
  counters.add(load(50), 10_000);
  counters.add(load(null, null), 10_000);
  counters.add(load(100), 10_000);
  expect(counters.read()).toEqual([{ id: 'a', busyMs: 15_000, observedMs: 20_000, memoryBytes: 5 }]);
});

test('they go on where they were saved last, and a file that was cut begins them anew', async () => {
  const before = await openDeviceCounters(directory);
  before.add(load(100), 1000);
  await before.save();
  before.add(load(100), 1000); // not saved: the agent is killed
  const after = await openDeviceCounters(directory);
  after.add(load(100), 500);
  expect(after.read()).toMatchObject([{ busyMs: 1500, observedMs: 1500 }]);
  writeFileSync(join(directory, 'device-counters.json'), '{"a":');
  expect((await openDeviceCounters(directory)).read()).toEqual([]);
});
