import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureSimulatedEngineImage } from '../../infra/images/simulated-engine.mjs';
import { connectDocker } from '../../src/docker/connect.js';
import { type LocalBerth, startBerth } from './local-berth.js';

let berth: LocalBerth;
beforeAll(async () => {
  await ensureSimulatedEngineImage();
  berth = await startBerth('demo-serve');
}, 240_000);
afterAll(() => berth.remove());

test("Bob's service: loads without traffic, a bad revision takes nothing, rollouts under load fail no request, bursts scale, a killed replica is replaced", async () => {
  const record = join(berth.directory, 'serve.json');
  const { code, stdout, stderr } = await berth.run('demo', 'serve', '--record', record);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/all as expected\n$/);
  expect(code).toBe(0);
  expect(stdout.match(/a load of \d+ requests: 0 failed/g)?.length).toBeGreaterThanOrEqual(3);
  const recording = JSON.parse(readFileSync(record, 'utf8'));
  expect(recording).toMatchObject({ schema: 'berth.demo/1', outcome: 'as expected' });
  expect(recording.samples.at(-1).use).toMatchObject({ cpuMilli: 0, gpus: 0 });

  const node = `demo-serve-${process.pid}`;
  const left = await connectDocker().listContainers({ all: true, filters: { label: [`berth.node=${node}`] } });
  expect(left).toEqual([]);
});
