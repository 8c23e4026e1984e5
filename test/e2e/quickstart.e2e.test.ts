import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalBerth, startBerth } from './local-berth.js';

let berth: LocalBerth;
beforeAll(async () => {
  berth = await startBerth('quickstart');
}, 240_000);
afterAll(() => berth.remove());

test('the main job: data and script to a folder, a model trained on two GPUs, its accuracy, the timeline, where to look', async () => {
  const { code, stdout, stderr } = await berth.quickstart();
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('rror')]);
  expect(stdout).toMatch(/uploaded penguins\.json: \d+ bytes/);
  const accuracy = /accuracy ([\d.]+) % on (\d+) held-out rows/.exec(stdout);
  expect(Number(accuracy?.[1])).toBeGreaterThan(90);
  expect(Number(accuracy?.[2])).toBeGreaterThan(30);
  for (const state of ['PENDING', 'SCHEDULED', 'RUNNING', 'TERMINATED']) expect(stdout).toContain(state);
  expect(stdout).toMatch(/API docs\s+http:\/\/127\.0\.0\.1:\d+\/docs/);
  const again = await berth.quickstart();
  expect(again.code).toBe(0);
});
