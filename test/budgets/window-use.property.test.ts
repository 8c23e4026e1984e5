import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ChargedInterval, WindowUse } from '../../src/budgets/window-use.js';

const WINDOW = 100;

/** By definition: the overlap of each interval with [now − W, now). */
function slowSum(intervals: readonly ChargedInterval[], now: number): number {
  return intervals.reduce((sum, { startMs, endMs, milliGpus }) => {
    const overlap = Math.min(endMs ?? now, now) - Math.max(startMs, now - WINDOW);
    return sum + Math.max(0, overlap) * milliGpus;
  }, 0);
}

const interval = fc
  .record({
    startMs: fc.integer({ min: 0, max: 400 }),
    length: fc.option(fc.integer({ min: 0, max: 300 })),
    milliGpus: fc.integer({ min: 1, max: 8000 }),
  })
  .map(
    ({ startMs, length, milliGpus }): ChargedInterval => ({
      startMs,
      endMs: length === null ? null : startMs + length,
      milliGpus,
    }),
  );
const steps = fc.array(fc.integer({ min: 0, max: 90 }), { minLength: 1, maxLength: 20 });

test('all at once and then on, the sum is the overlap with the window, to the unit', () => {
  fc.assert(
    fc.property(
      fc.array(interval, { maxLength: 30 }),
      fc.integer({ min: 0, max: 300 }),
      steps,
      (intervals, first, gaps) => {
        const use = WindowUse.of(WINDOW, first, intervals);
        let now = first;
        expect(use.sum).toBe(slowSum(intervals, now));
        for (const gap of gaps) {
          now += gap;
          expect(use.advance(now)).toBe(slowSum(intervals, now));
        }
      },
    ),
  );
});

test('a change that is told late, and one that is taken back, count as if they had always been so', () => {
  fc.assert(
    fc.property(
      fc.array(interval, { minLength: 1, maxLength: 20 }),
      steps,
      fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
      (intervals, gaps, isWithdrawn) => {
        const use = new WindowUse(WINDOW, 0);
        const told: ChargedInterval[] = [];
        let now = 0;
        intervals.forEach((one, index) => {
          now += gaps[index % gaps.length] ?? 0;
          use.advance(now);
          use.change(one.startMs, one.milliGpus);
          if (one.endMs !== null) use.change(one.endMs, -one.milliGpus);
          if (isWithdrawn[index] === true) use.withdraw(one);
          else told.push(one);
          expect(use.sum).toBe(slowSum(told, now));
        });
        expect(use.advance(now + 57)).toBe(slowSum(told, now + 57));
      },
    ),
  );
});
