import { expect, test } from 'vitest';
import { CASES } from './cases/index.js';
import { sampleOf } from './support/choose.js';

const LIMITS = { count: 6, seconds: 150 };
const titles = (seed: number): string[] => sampleOf(CASES, seed, LIMITS).map(({ title }) => title);

test('a seed chooses the same cases again, and another one others', () => {
  expect(titles(7)).toEqual(titles(7));
  expect(titles(7)).not.toEqual(titles(8));
});

test('a sample keeps both limits, and never needs a second Berth', () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const chosen = sampleOf(CASES, seed, LIMITS);
    expect(chosen.length).toBeGreaterThanOrEqual(3);
    expect(chosen.length).toBeLessThanOrEqual(LIMITS.count);
    expect(chosen.reduce((sum, { seconds }) => sum + seconds, 0)).toBeLessThanOrEqual(LIMITS.seconds);
    expect(chosen.filter(({ stage = 'shared' }) => stage !== 'shared')).toEqual([]);
  }
});

test('every case but those for the whole alone is chosen by some seed, and has a title of its own', () => {
  const seen = new Set(Array.from({ length: 400 }, (_, seed) => titles(seed)).flat());
  const shared = CASES.filter(({ stage = 'shared', onlyWhole }) => stage === 'shared' && onlyWhole !== true);
  expect(seen.size).toBe(shared.length);
  expect(new Set(CASES.map(({ title }) => title)).size).toBe(CASES.length);
});
