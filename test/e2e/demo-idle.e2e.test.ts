import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalBerth, startBerth } from './local-berth.js';

let berth: LocalBerth;
beforeAll(async () => {
  berth = await startBerth('demo-idle', 1, { env: { BERTH_NODE_USAGE_SECONDS: '1' } });
}, 240_000);
afterAll(() => berth.remove());

test('experiment 3: the idle notebook is reclaimed, the waiting one starts, the file is the same, the worker lives', async () => {
  const record = join(berth.directory, 'idle.json');
  const { code, stdout, stderr } = await berth.run('demo', 'idle', '--window', '10s', '--record', record);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/all as expected\n$/);
  expect(code).toBe(0);
  const recording = JSON.parse(readFileSync(record, 'utf8'));
  expect(recording).toMatchObject({ schema: 'berth.demo/1', outcome: 'as expected', control: { seconds: 10 } });
  expect(recording.startedAfterSeconds).toBeLessThanOrEqual(40);
  expect(new Set(Object.values(recording.sha256)).size).toBe(1);
  expect(recording.told.map(({ cause }: { cause: string }) => cause)).toEqual([
    'idle-warning',
    'idle-timeout',
    'idle-timeout',
  ]);
  expect(recording.worker.after).toEqual(recording.worker.before);
  expect(recording.samples.at(-1).use).toMatchObject({ cpuMilli: 0, gpus: 0 });
});
