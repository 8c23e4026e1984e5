import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalBerth, startBerth } from './local-berth.js';

let berth: LocalBerth;
beforeAll(async () => {
  berth = await startBerth('demo-share', 1, {
    simulatedGpus: [{ model: 'simulated', memoryBytes: 24 * 2 ** 30, count: 8 }],
  });
}, 240_000);
afterAll(() => berth.remove());

test('reserved GPUs are lent to training of all 8, and the service has them back within the stated time, twice', async () => {
  const record = join(berth.directory, 'share.json');
  const { code, stdout, stderr } = await berth.run('demo', 'share', '--record', record);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/all as expected\n$/);
  expect(code).toBe(0);
  const recording = JSON.parse(readFileSync(record, 'utf8'));
  expect(recording).toMatchObject({ schema: 'berth.demo/1', outcome: 'as expected' });
  expect(recording.figures['first take-back: lent GPUs were back after (s)']).toBeLessThan(30);
  expect(recording.figures['second take-back: lent GPUs were back after (s)']).toBeLessThan(30);
  expect(recording.samples.at(-1).use).toMatchObject({ cpuMilli: 0, gpus: 0 });
});

test('a file is applied until it serves, is shown, scaled, explained, and taken away, by the program as it is built', async () => {
  const file = join(berth.directory, 'web.yaml');
  const lines = [
    'name: web',
    'template:',
    '  image: berth/busybox:test',
    '  command: [sh, -c, "mkdir -p /tmp/w; echo ok > /tmp/w/index.html; exec httpd -f -p 8000 -h /tmp/w"]',
    '  port: 8000',
    '  slots: {cpu: 0.2, memory: 16Mi}',
    '  health: {path: /index.html, intervalSeconds: 0.5}',
    '  drainSeconds: 1',
    '  gracePeriodSeconds: 1',
  ];
  writeFileSync(file, lines.join('\n'));
  const applied = await berth.run('deploy', 'apply', '-f', file, '--wait', '--timeout', '60s');
  expect([applied.code, applied.stderr]).toEqual([0, expect.not.stringContaining('error')]);
  const got = await berth.run('deploy', 'get', 'web', '--output', 'json');
  expect(JSON.parse(got.stdout)).toMatchObject({ name: 'web', state: 'READY', replicasServing: 1 });
  for (const command of [
    ['ls'],
    ['why', 'web'],
    ['scale', 'web', '2'],
    ['rollout', 'status', 'web'],
    ['events', 'web'],
  ])
    expect(await berth.run('deploy', ...command)).toMatchObject({ code: 0 });
  writeFileSync(file, [...lines, '  imag: x'].join('\n'));
  const refused = await berth.run('deploy', 'apply', '-f', file);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('imag')]);
  expect(await berth.run('deploy', 'rm', 'web')).toMatchObject({ code: 0 });
});
