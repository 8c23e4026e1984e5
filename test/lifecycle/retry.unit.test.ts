import { expect, test } from 'vitest';
import { decideRetry, type FailedAttempt } from '../../src/lifecycle/retry.js';

const retry = { maxAttempts: 3, backoffSeconds: 5, maxBackoffSeconds: 300 };
const failed: FailedAttempt = { cause: 'pull-failed', whose: 'platform', attempt: 1, retry, stopRequested: false };

const cases: [title: string, change: Partial<FailedAttempt>, backoffMs: number | null][] = [
  ['is tried again after the back-off', {}, 5000],
  ['waits twice as long after the second failure', { attempt: 2 }, 10_000],
  ['ends when the last attempt failed', { attempt: 3 }, null],
  ['ends at once when one attempt is all it has', { retry: { ...retry, maxAttempts: 1 } }, null],
  ['waits no longer than the maximum', { attempt: 9, retry: { ...retry, maxAttempts: 20 } }, 300_000],
  ['may be tried again without a wait', { retry: { ...retry, backoffSeconds: 0 } }, 0],
  ['ends when somebody asked for its end', { stopRequested: true }, null],
  ["ends when the failure is the user's", { whose: 'user' }, null],
  ['ends when its own container failed', { cause: 'user-failure' }, null],
  ['is tried again when its node is lost', { cause: 'node-lost' }, 5000],
  ['is tried again when the platform could not start it in time', { cause: 'start-deadline' }, 5000],
  ["ends when the user's own start was too slow", { cause: 'start-deadline', whose: 'user' }, null],
  ['ends when its workflow is gone: nobody would run the next attempt', { cause: 'workflow-lost' }, null],
];

for (const [title, change, backoffMs] of cases) {
  test(`a failed attempt ${title}`, () => {
    const want = backoffMs === null ? { again: false } : { again: true, backoffMs };
    expect(decideRetry({ ...failed, ...change })).toEqual(want);
  });
}
