import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createBeatContact } from '../../activities/node/beat-contact.js';

/** The clock is the test's: what is tested is a matter of seconds that pass. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] }));
afterEach(() => void vi.useRealTimers());

type Answer = 'at once' | 'never' | 'after 6 s';

/** Beats each 5 s, answered in turn so; how often contact was made. */
async function contactsAfter(answers: readonly Answer[], isOver = false): Promise<number> {
  const queue = [...answers];
  let made = 0;
  const reachesTemporal = async (): Promise<void> => {
    const answer = queue.shift();
    if (answer === 'never') throw new Error('Temporal is away');
    if (answer === 'after 6 s') await vi.advanceTimersByTimeAsync(6_000);
  };
  const beat = createBeatContact({ reachesTemporal, contactMade: () => (made += 1) }, 40_000);
  for (let beats = 0; beats < answers.length; beats += 1) {
    await beat(() => isOver);
    await vi.advanceTimersByTimeAsync(5_000);
  }
  return made;
}

const ok: Answer = 'at once';
const cases: [title: string, answers: readonly Answer[], want: number][] = [
  ['is made when Temporal answered for 15 s, and with each beat from then on', [ok, ok, ok, ok, ok], 2],
  ['is not made by the first answers after an outage', ['never', ok, ok, ok], 0],
  ['is counted anew after an answer that did not come', [ok, ok, ok, 'never', ok, ok, ok, ok], 1],
  ['is counted anew after an answer that came late', [ok, ok, ok, 'after 6 s', ok, ok, ok], 0],
];
for (const [title, answers, want] of cases) {
  test(`contact by beats ${title}`, async () => expect(await contactsAfter(answers)).toBe(want));
}

test('contact by beats is not made of a presence that is over', async () => {
  expect(await contactsAfter([ok, ok, ok, ok, ok], true)).toBe(0);
});
