import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SetupError, withLock } from '../../infra/setup/common.mjs';
import { findTemporal } from '../../infra/setup/temporal.mjs';
import { parseBytes } from '../../src/cli/supervisor/parse-bytes.js';
import { temporalArguments } from '../../src/cli/supervisor/temporal-arguments.js';

const cache = mkdtempSync(join(tmpdir(), 'berth-cache-'));
const before = process.env['BERTH_CACHE'];

beforeAll(() => {
  process.env['BERTH_CACHE'] = cache;
});
afterAll(() => {
  if (before === undefined) delete process.env['BERTH_CACHE'];
  else process.env['BERTH_CACHE'] = before;
  rmSync(cache, { recursive: true, force: true });
});

describe('the set-up lock', () => {
  test('lets one at a time in', async () => {
    let inside = 0;
    const work = () =>
      withLock('one', async () => {
        inside += 1;
        expect(inside).toBe(1);
        await new Promise((resolve) => setTimeout(resolve, 10));
        inside -= 1;
      });
    await Promise.all([work(), work(), work()]);
  });

  test('is free again when its owner died', async () => {
    writeFileSync(join(cache, 'two.lock'), '4194305'); // above the kernel's highest pid
    expect(await withLock('two', async () => 'done', 5)).toBe('done');
  });

  test('is given up with the mend when it is held too long', async () => {
    writeFileSync(join(cache, 'three.lock'), String(process.pid));
    await expect(withLock('three', async () => 'done', 0.3)).rejects.toThrow(SetupError);
  });
});

test('a configured Temporal comes before any program', () => {
  process.env['BERTH_TEMPORAL_ADDRESS'] = 'temporal.example:7233';
  expect(findTemporal()).toMatchObject({ kind: 'server', address: 'temporal.example:7233' });
  delete process.env['BERTH_TEMPORAL_ADDRESS'];
});

test('Temporal on a file gets its pragmas and the fast settings, in memory no pragmas', () => {
  const onFile = temporalArguments({ port: 1, databaseFile: '/f' }).join(' ');
  expect(onFile).toContain('--sqlite-pragma journal_mode=WAL --sqlite-pragma synchronous=NORMAL');
  expect(onFile).toContain('--dynamic-config-value history.transferProcessorMaxPollRPS=200');
  expect(onFile).toContain('--headless');
  expect(temporalArguments({ port: 1, uiPort: 2 }).join(' ')).not.toMatch(/pragma|headless/);
});

const sizes: [text: string, bytes: number | undefined][] = [
  ['24Gi', 24 * 2 ** 30],
  ['1.5Gi', 1.5 * 2 ** 30],
  ['512Mi', 512 * 2 ** 20],
  ['7', 7],
  ['0', undefined],
  ['-1', undefined],
  ['24GB', undefined],
  ['0.1', undefined],
  ['', undefined],
];
for (const [text, bytes] of sizes) {
  test(`a size of "${text}" is ${bytes ?? 'refused'}`, () => {
    if (bytes === undefined) expect(() => parseBytes(text)).toThrow('is no size');
    else expect(parseBytes(text)).toBe(bytes);
  });
}
