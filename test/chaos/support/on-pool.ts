import { expect } from 'vitest';
import type { Berth } from './berth.js';
import type { ChaosCase } from './chaos-case.js';
import { ask, claim, endPool, is, makePool } from './models.js';

/** A pool of one GPU, what is tried on it, and its end. */
export const onPool = (title: string, run: (berth: Berth) => Promise<void>, seconds = 60): ChaosCase => ({
  title: `models: ${title}`,
  seconds,
  onlyWhole: true,
  run: async (berth) => {
    await makePool(berth);
    await run(berth);
    await endPool(berth);
  },
});

/** A sleeps and has given its room away; b and c serve, and may sleep for another. */
export async function full(berth: Berth): Promise<void> {
  await claim(berth, 'a', { knobs: { 'wake-seconds': '1.5' } });
  await is(berth, 'a', 'ACTIVE');
  await berth.client.models.sleep('a');
  await is(berth, 'a', 'SLEEPING');
  await claim(berth, 'b');
  await claim(berth, 'c');
  await is(berth, 'b', 'ACTIVE');
  await is(berth, 'c', 'ACTIVE');
}

/** Lets the wake go so far that its engine is at it, or nearly. */
export async function wakingA(berth: Berth): Promise<void> {
  expect(await ask(berth, 'a')).toMatchObject({ status: 503 });
  await is(berth, 'a', 'WAKING');
}
