import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalBerth, startBerth } from './local-berth.js';

let berth: LocalBerth;
beforeAll(async () => {
  berth = await startBerth('demo-placement', 2);
}, 240_000);
afterAll(() => berth.remove());

test('experiment 2: a and c and every policy as planned; b strands four GPUs when dispersed, and not when concentrated', async () => {
  const record = join(berth.directory, 'placement.json');
  const { code, stdout, stderr } = await berth.run('demo', 'placement', '--record', record);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/all as expected\n$/);
  expect(code).toBe(0);
  const recording = JSON.parse(readFileSync(record, 'utf8'));
  expect(recording).toMatchObject({ schema: 'berth.demo/1', outcome: 'as expected' });
  expect(recording.samples.at(-1).use).toMatchObject({ cpuMilli: 0, gpus: 0 });
});
