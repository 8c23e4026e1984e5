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
  // The room is due at that moment; the engine takes its time to remove what had it.
  const late = Date.parse(recording.alice.placed) - Date.parse(recording.alice.promised);
  expect(late).toBeLessThan(10_000);
  expect(recording.samples.at(-1).use).toMatchObject({ cpuMilli: 0, gpus: 0 });
});
