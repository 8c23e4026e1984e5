import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalBerth, startBerth } from './local-berth.js';

let berth: LocalBerth;
beforeAll(async () => {
  berth = await startBerth('demo-budgets');
}, 240_000);
afterAll(() => berth.remove());

test('GPU time budgets: shares converge, free work yields, a drain keeps its word; the report tells it', async () => {
  const record = join(berth.directory, 'budgets.json');
  const { code, stdout, stderr } = await berth.run('demo', 'budgets', '--record', record);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/verdict: the shares converged\n[^]*all as expected\n$/);
  expect(code).toBe(0);
  const recording = JSON.parse(readFileSync(record, 'utf8'));
  expect(recording).toMatchObject({ schema: 'berth.demo/1', outcome: 'as expected' });
  expect(recording.free.unallocatedGpuSeconds).toBeGreaterThan(0);
  expect(recording.samples.at(-1).use).toMatchObject({ cpuMilli: 0, gpus: 0 });

  const page = join(berth.directory, 'report.html');
  const reported = await berth.run('budget', 'report', '--from', '10m', '-f', page);
  expect([reported.code, reported.stderr]).toEqual([0, expect.stringMatching(/^wrote .*report\.html, \d+ bytes\n$/)]);
  const html = readFileSync(page, 'utf8');
  expect(html).toContain('demo-programs/patient (closed)');
  expect(html.match(/<svg /g)?.length).toBe(3);

  // Budgets closed, settings as before.
  const settings = await berth.run('budget', 'settings', '-o', 'json');
  expect(JSON.parse(settings.stdout)).toMatchObject({ windowSeconds: 604_800 });
});
