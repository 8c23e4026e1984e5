import { describe, expect, test } from 'vitest';
import { keptTimes } from '../../src/cli/demo/drain-kept.js';
import { greedyShare, type SeenShares, sharesText, staysLevel } from '../../src/cli/demo/watch-shares.js';
import type { DrainPlan, SessionEvent } from '../../src/contract/index.js';

const look = (second: number, greedy: number, patient: number): SeenShares => {
  const share = (usedGpuSeconds: number) => ({ usedGpuSeconds, runningGpus: 2, pendingGpus: 8 });
  return {
    at: new Date(second * 1000).toISOString(),
    shares: { greedy: share(greedy), patient: share(patient) },
  };
};

describe('the verdict on shares', () => {
  test('is given when both were level for long enough, without a break', () => {
    const isLevel = staysLevel(0.1, 3);
    const looks = [
      look(0, 40, 10),
      look(1, 50, 40),
      look(2, 50, 20),
      look(3, 40, 60),
      look(5, 41, 60),
      look(6, 50, 50),
    ];
    expect(looks.map(isLevel)).toEqual([false, false, false, false, false, true]);
  });
  test('is not given while nothing is charged', () => {
    expect(greedyShare(look(0, 0, 0))).toBe(1);
  });
  test('is told with its numbers', () => {
    expect(sharesText(look(0, 30, 10))).toBe(
      'greedy 30.0 GPU-s (75 %; has 2, waits for 8), patient 10.0 GPU-s (25 %; has 2, waits for 8)',
    );
  });
});

describe('the word of a drain', () => {
  const at = (second: number): string => new Date(second * 1000).toISOString();
  const plan = {
    node: 'n1',
    emptyAt: at(11),
    stops: [{ stopAt: at(0) }, { stopAt: at(10) }],
  } as unknown as DrainPlan;
  const events = (told: number, empty: number): SessionEvent[] =>
    [
      { at: at(-5), kind: 'state', to: 'PENDING' },
      { at: at(told), kind: 'state', to: 'PREEMPTING' },
      { at: at(empty), kind: 'state', to: 'PENDING' },
    ] as unknown as SessionEvent[];

  test('is kept when the last is told at the end of its minimum runtime, and the node is empty as announced', () => {
    expect(keptTimes(plan, events(10, 12))).toEqual({ announcedAt: at(11), toldAt: at(10), emptyAt: at(12) });
  });
  test.each([
    ['told before its minimum runtime was over', 9.5, 11],
    ['empty long after the announced moment', 10, 17],
  ])('is broken when it was %s', (_title, told, empty) => {
    expect(() => keptTimes(plan, events(told, empty))).toThrow(/expected: told at .* or later, empty by/);
  });
  test('needs a session that it stopped', () => {
    expect(() => keptTimes(plan, [])).toThrow(/seen: none in its history/);
  });
});
