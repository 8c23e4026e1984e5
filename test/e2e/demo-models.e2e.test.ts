import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureSimulatedEngineImage } from '../../infra/images/simulated-engine.mjs';
import { connectDocker } from '../../src/docker/connect.js';
import { type LocalBerth, startBerth } from './local-berth.js';

const GIB = 2 ** 30;

let berth: LocalBerth;
beforeAll(async () => {
  await ensureSimulatedEngineImage();
  berth = await startBerth('demo-models', 1, {
    env: { BERTH_ENGINE_LOOK_SECONDS: '1' },
    memoryBytes: 128 * GIB,
    simulatedGpus: [{ model: 'simulated', memoryBytes: Math.floor(95.1 * GIB), count: 1 }],
  });
}, 240_000);
afterAll(() => berth.remove());

test('model claims: the eight steps with their numbers, and what a client of the gateway gets', async () => {
  const record = join(berth.directory, 'models.json');
  const { code, stdout, stderr } = await berth.run('demo', 'models', '--idle-seconds', '4', '--record', record);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/all as expected\n$/);
  expect(code).toBe(0);
  const recording = JSON.parse(readFileSync(record, 'utf8'));
  expect(recording).toMatchObject({ schema: 'berth.demo/1', outcome: 'as expected' });
  const { placed, samples } = recording;
  expect(placed.seconds - placed.sleepSeconds).toBeLessThanOrEqual(1);
  expect(placed.roomGib).toBeCloseTo(52.44, 1);
  expect(samples.at(-1).use).toMatchObject({ cpuMilli: 0, gpus: 0 });

  const node = `demo-models-${process.pid}`;
  const left = await connectDocker().listContainers({ all: true, filters: { label: [`berth.node=${node}`] } });
  expect(left).toEqual([]);
});
