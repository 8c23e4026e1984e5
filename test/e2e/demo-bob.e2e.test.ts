import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalBerth, startBerth } from './local-berth.js';

let berth: LocalBerth;
beforeAll(async () => {
  berth = await startBerth('demo-bob');
}, 240_000);
afterAll(() => berth.remove());

test('the walk-through: capacity, quota with its sum, and a failed start that releases node, ledger, then Bob', async () => {
  const record = join(berth.directory, 'bob.json');
  const { code, stdout, stderr } = await berth.run('demo', 'bob', '--record', record);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/all as expected\n$/);
  expect(code).toBe(0);
  const recording = JSON.parse(readFileSync(record, 'utf8'));
  expect(recording).toMatchObject({ schema: 'berth.demo/1', outcome: 'as expected' });
  expect(recording.releaseOrder).toHaveLength(3);
  expect(recording.samples.at(-1).use).toMatchObject({ cpuMilli: 0, gpus: 0 });
});
