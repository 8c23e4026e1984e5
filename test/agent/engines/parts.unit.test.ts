import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from 'undici';
import { expect, test } from 'vitest';
import { openCrashBook } from '../../../src/agent/engines/crash-book.js';
import type { EngineDeps } from '../../../src/agent/engines/engine-deps.js';
import { residueOf } from '../../../src/agent/engines/engine-memory.js';
import type { FoundEngine } from '../../../src/agent/engines/found-engine.js';
import { lookAt } from '../../../src/agent/engines/look-at.js';
import { restartPauseSeconds } from '../../../src/agent/engines/restart-budget.js';
import { s3Headers } from '../../../src/agent/engines/s3.js';
import { parseApps, parseUsable } from '../../../src/devices/gpu-memory.js';

test('restarts: 2, 4, 8, 16, 32 s, then none; the budget refills as crashes grow old', () => {
  const crashes: number[] = [];
  const pauses = [0, 1, 2, 3, 4, 5].map((at) => {
    const pause = restartPauseSeconds(crashes, at * 1000);
    crashes.push(at * 1000);
    return pause;
  });
  expect(pauses).toEqual([2, 4, 8, 16, 32, undefined]);
  expect(restartPauseSeconds(crashes, 3_600_000)).toBe(2);
});

test('a look at a run that ends meanwhile does not tell the next restart', async () => {
  let restarts = 0;
  const engine = createServer((_request, response) => {
    restarts = 1; // it crashed and was started again while it was asked
    response.end('{"is_sleeping": false}');
  }).listen(0, '127.0.0.1');
  await once(engine, 'listening');
  const dispatcher = new Agent();
  const deps = {
    ...{ publishAddress: '127.0.0.1', dispatcher, containers: { stats: async () => undefined } },
    records: { of: () => ({ apiKey: 'key', hasServed: true }) },
    crashes: { of: () => ({ restarts, crashes: [] }) },
    sleepers: { has: () => false },
  } as unknown as EngineDeps;
  const found = {
    ...{ instanceId: 'a', engine: 'vllm', modelName: 'm', devices: [], segment: 's' },
    ...{ hostPort: (engine.address() as AddressInfo).port, container: { status: 'running' } },
  } as unknown as FoundEngine;
  const sight = { segments: null, simulated: null, apps: null };
  expect(await lookAt(deps, found, sight)).toMatchObject({ state: 'ready', restarts: 0 });
  expect(await lookAt(deps, found, sight)).toMatchObject({ state: 'ready', restarts: 1 });
  await dispatcher.close();
  engine.close();
});

test('crashes are known to the next agent, each run once; half-written and unreadable files, and old ones, are nothing', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'berth-crashes-'));
  try {
    const crash = (atMs: number) => ({ atMs, run: 'r' });
    const book = await openCrashBook(dir);
    await book.put('a', { restarts: 2, crashes: [crash(Date.now())] });
    await book.put('old', { restarts: 1, crashes: [crash(1)] });
    await book.put('gone', { restarts: 1, crashes: [crash(Date.now())] });
    await book.remove('gone');
    await book.remove('never');
    for (const [name, text] of [
      ['b', '{"restarts"'],
      ['c', '{}'],
      ['a.new', '{}'],
    ] as const)
      await writeFile(join(dir, name), text);
    const next = await openCrashBook(dir);
    expect(next.of('a')).toEqual(book.of('a'));
    for (const id of ['old', 'gone', 'b', 'c']) expect(next.of(id)).toEqual({ restarts: 0, crashes: [] });
    expect(await readdir(dir)).toEqual(['a']);
  } finally {
    await rm(dir, { recursive: true });
  }
});

test('two that write the crashes of one engine at once disturb neither; what was known last stands, also after a removal', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'berth-crashes-'));
  try {
    const book = await openCrashBook(dir);
    const crashes = [{ atMs: Date.now(), run: 'r' }];
    await Promise.all([1, 2, 3, 4, 5].map((restarts) => book.put('a', { restarts, crashes })));
    expect((await openCrashBook(dir)).of('a').restarts).toBe(5);
    await Promise.all([book.put('a', { restarts: 6, crashes }), book.remove('a')]);
    expect(await readdir(dir)).toEqual([]);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

test('the driver’s own reserve is not usable; a process whose memory is not told is not known', () => {
  const usable = parseUsable('GPU-1, 97871, 558\nGPU-2, [N/A], [N/A]\nGPU-3, 1024, [N/A]\n');
  expect([...usable]).toEqual([
    ['GPU-1', (97871 - 558) * 2 ** 20],
    ['GPU-3', 2 ** 30],
  ]);
  expect(parseApps('GPU-1, 4242, 1024\nGPU-1, 7, [N/A]\nwarning, of something\n')).toEqual([
    { gpu: 'GPU-1', pid: 4242, bytes: 2 ** 30 },
    { gpu: 'GPU-1', pid: 7, bytes: null },
  ]);
});

test('a residue is the most that is left on any device, and not known when one of them is not', () => {
  const devices = ['a', 'b'].map((id) => ({ id, memoryBytes: 100, simulated: true }));
  const engine = { devices, footprintBytes: 40 } as unknown as FoundEngine;
  expect(residueOf(engine, { a: 42, b: 42 }, { a: 1, b: 3 })).toBe(3);
  expect(residueOf(engine, { a: 42, b: 42 }, { a: 1, b: 41 })).toBeNull();
  expect(residueOf(engine, null, { a: 1 })).toBeNull();
  expect(residueOf(engine, { a: 42, b: 42 }, null)).toBeNull();
});

test('a request to S3 is signed as its documentation’s example is', () => {
  const keys = { id: 'AKIAIOSFODNN7EXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' };
  const url = 'https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J';
  const s3 = { endpoint: 'https://s3.amazonaws.com', region: 'us-east-1', keys };
  const { authorization } = s3Headers(url, s3, new Date('2013-05-24T00:00:00Z'));
  expect(authorization).toContain('Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7');
  expect(s3Headers(url, { ...s3, keys: undefined })).toEqual({});
});
