import { expect, test, vi } from 'vitest';
import { createSharedWork } from '../../src/docker/shared-work.js';

/** Work that ends when told, and tells how often it was started and whether it was given up. */
function setUp() {
  const ends: { resolve: (value: string) => void; reject: (error: Error) => void; signal: AbortSignal }[] = [];
  const reports: ((progress: number) => void)[] = [];
  const shared = createSharedWork<string, number>();
  const ask = (options: { signal?: AbortSignal; onProgress?: (progress: number) => void } = {}) =>
    shared('key', {
      start: (report, signal) =>
        new Promise((resolve, reject) => {
          reports.push(report);
          ends.push({ resolve, reject, signal });
        }),
      onProgress: options.onProgress,
      signal: options.signal,
    });
  return { ends, reports, ask };
}

test('all who ask meanwhile share one piece of work and its progress', async () => {
  const { ends, reports, ask } = setUp();
  const [onFirst, onSecond] = [vi.fn(), vi.fn()];
  const answers = [ask({ onProgress: onFirst }), ask({ onProgress: onSecond })];
  reports[0]?.(7);
  ends[0]?.resolve('done');
  expect(await Promise.all(answers)).toEqual(['done', 'done']);
  expect(ends).toHaveLength(1);
  expect([onFirst.mock.calls, onSecond.mock.calls]).toEqual([[[7]], [[7]]]);
});

test('who gives up gets the reason, and the others go on', async () => {
  const { ends, ask } = setUp();
  const abort = new AbortController();
  const [given, kept] = [ask({ signal: abort.signal }), ask()];
  abort.abort(new Error('enough'));
  await expect(given).rejects.toThrow('enough');
  expect(ends[0]?.signal.aborted).toBe(false);
  ends[0]?.resolve('done');
  expect(await kept).toBe('done');
});

test('the work ends when the last one has given up, and the next one starts anew', async () => {
  const { ends, ask } = setUp();
  const abort = new AbortController();
  const given = ask({ signal: abort.signal });
  abort.abort(new Error('enough'));
  await expect(given).rejects.toThrow('enough');
  expect(ends[0]?.signal.aborted).toBe(true);
  const next = ask();
  expect(ends).toHaveLength(2);
  ends[0]?.reject(new Error('aborted'));
  ends[1]?.resolve('done');
  expect(await next).toBe('done');
});

test('a failure reaches all, and is not kept', async () => {
  const { ends, ask } = setUp();
  const answers = [ask(), ask()];
  ends[0]?.reject(new Error('no'));
  for (const answer of answers) await expect(answer).rejects.toThrow('no');
  const next = ask();
  ends[1]?.resolve('done');
  expect(await next).toBe('done');
});

test('who has given up before asking starts nothing', async () => {
  const { ends, ask } = setUp();
  await expect(ask({ signal: AbortSignal.abort(new Error('early')) })).rejects.toThrow('early');
  expect(ends).toHaveLength(0);
});
