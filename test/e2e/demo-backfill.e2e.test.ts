import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalBerth, startBerth } from './local-berth.js';

let berth: LocalBerth;
beforeAll(async () => {
  berth = await startBerth('demo-backfill');
}, 240_000);
afterAll(() => berth.remove());

test('experiment 1 with backfill: Bob runs ahead of Alice only when the runtimes let him', async () => {
  const record = join(berth.directory, 'backfill.json');
  const { code, stdout, stderr } = await berth.run('demo', 'backfill', '--record', record);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/all as expected\n$/);
  expect(code).toBe(0);
  const recording = JSON.parse(readFileSync(record, 'utf8'));
  expect(recording).toMatchObject({ schema: 'berth.demo/1', outcome: 'as expected' });
  expect(Date.parse(recording.alice.started)).toBeLessThanOrEqual(Date.parse(recording.alice.promised) + 1_000);
  expect(recording.samples.at(-1).use).toMatchObject({ cpuMilli: 0, gpus: 0 });
});
