import { expect, test } from 'vitest';
import { deliver } from '../../activities/control/kick.js';
import type { DueSignal } from '../../src/store/store.js';

const signals = (count: number): DueSignal[] =>
  Array.from({ length: count }, (_, attempt) => ({ sessionId: `ses_${attempt}` as never, kind: 'preempt', attempt }));

/** A door that takes `eachMs` for a signal and fails every tenth where asked. */
function doorOf({ eachMs = 0, failing = false } = {}) {
  const seen = { now: 0, most: 0, told: [] as number[] };
  const door = {
    async signalSession({ attempt }: DueSignal) {
      seen.now += 1;
      seen.most = Math.max(seen.most, seen.now);
      await new Promise((resolve) => setTimeout(resolve, eachMs));
      seen.now -= 1;
      if (failing && attempt % 10 === 0) throw new Error('Temporal is away');
      seen.told.push(attempt);
      return true;
    },
  };
  const dependencies = { door: door as never, log: { warn: () => undefined }, count: () => undefined };
  return { seen, dependencies };
}

test('thousands of signals go out in slices, all of them, where there is time', async () => {
  const { seen, dependencies } = doorOf();
  expect(await deliver(dependencies, signals(2_000))).toEqual({ delivered: 2_000, left: 0 });
  expect(seen.told).toHaveLength(2_000);
  expect(seen.most).toBeLessThanOrEqual(50);
});

test('what does not fit into the time is left for its rows to call for again', async () => {
  const { seen, dependencies } = doorOf({ eachMs: 20 });
  const { delivered, left } = await deliver(dependencies, signals(5_000), 200);
  expect(delivered).toBe(seen.told.length);
  expect(delivered).toBeGreaterThan(0);
  expect(left).toBe(5_000 - delivered);
  expect(left).toBeGreaterThan(0);
});

test('one that fails keeps no other back', async () => {
  const { dependencies } = doorOf({ failing: true });
  expect(await deliver(dependencies, signals(100))).toEqual({ delivered: 90, left: 0 });
});
