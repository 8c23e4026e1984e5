import type { ChaosCase } from './chaos-case.js';

/** mulberry32: the same seed gives the same stream on every machine. Numbers in [0, 1). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface SampleLimits {
  readonly count: number;
  readonly seconds: number;
}

/** Cases in the seed's order, as many as both limits allow; on the shared stage, since another one costs its own start. */
export function sampleOf(cases: readonly ChaosCase[], seed: number, { count, seconds }: SampleLimits): ChaosCase[] {
  const random = randomOf(seed);
  const shuffled = cases
    .filter(({ stage = 'shared', onlyWhole }) => stage === 'shared' && onlyWhole !== true)
    .map((one) => ({ one, key: random() }))
    .sort((a, b) => a.key - b.key);
  const chosen: ChaosCase[] = [];
  let sum = 0;
  for (const { one } of shuffled) {
    if (chosen.length === count) break;
    if (sum + one.seconds > seconds) continue;
    sum += one.seconds;
    chosen.push(one);
  }
  return chosen;
}
