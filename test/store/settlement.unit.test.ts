import { expect, test } from 'vitest';
import { type AttemptFacts, settle } from '../../src/store/sessions/settlement.js';

const base: AttemptFacts = {
  state: 'TERMINATING',
  cause: null,
  ran: true,
  stopAsked: false,
  preempt: null,
  mainExitCode: null,
  told: false,
  failures: 0,
  retry: { maxAttempts: 3, backoffSeconds: 5, maxBackoffSeconds: 300 },
};
const leaving = (then: 'requeue' | 'end', change: Partial<AttemptFacts> = {}): Partial<AttemptFacts> => ({
  state: 'PREEMPTING',
  preempt: { cause: 'preempted', then },
  ...change,
});

const cases: [title: string, facts: Partial<AttemptFacts>, want: string][] = [
  ['exit 0 is a success', { cause: 'completed', mainExitCode: 0 }, 'end TERMINATED success completed'],
  ['its own failure ends it', { cause: 'user-failure', mainExitCode: 3 }, 'end TERMINATED failure user-failure'],
  ['a preempted one waits again', leaving('requeue'), 'requeue preempted'],
  ['a preempted one ends where the policy says so', leaving('end'), 'end TERMINATED stopped preempted'],
  [
    'a drained one waits again',
    leaving('requeue', { preempt: { cause: 'drained', then: 'requeue' } }),
    'requeue drained',
  ],
  [
    'a drained one that had not run is cancelled',
    leaving('end', { preempt: { cause: 'drained', then: 'end' }, ran: false }),
    'end CANCELLED cancelled drained',
  ],
  [
    'what exited 0 before it was told was done',
    leaving('requeue', { mainExitCode: 0 }),
    'end TERMINATED success completed',
  ],
  [
    'what failed before it was told has failed',
    leaving('requeue', { mainExitCode: 3 }),
    'end TERMINATED failure user-failure',
  ],
  [
    'what exits 0 once it is told waits again',
    leaving('requeue', { mainExitCode: 0, told: true }),
    'requeue preempted',
  ],
  [
    'what exits 1 once it is told waits again',
    leaving('requeue', { mainExitCode: 1, told: true }),
    'requeue preempted',
  ],
  [
    'what exits 0 once it is told was stopped, where it ends',
    leaving('end', { mainExitCode: 0, told: true }),
    'end TERMINATED stopped preempted',
  ],
  [
    'the user’s stop wins over the preemption',
    { state: 'TERMINATING', preempt: { cause: 'preempted', then: 'requeue' }, stopAsked: true, cause: 'user-stop' },
    'end TERMINATED stopped user-stop',
  ],
  ['the platform’s failure is tried again', { cause: 'node-lost' }, 'retry node-lost 5000'],
  ['so is a node that has not its folder', { cause: 'folder-refused', ran: false }, 'retry folder-refused 5000'],
  ['later each time', { cause: 'pull-failed', failures: 1 }, 'retry pull-failed 10000'],
  ['until no try is left', { cause: 'pull-failed', failures: 2 }, 'end ERROR platform-failure pull-failed'],
  ['not when a stop was asked', { cause: 'node-lost', stopAsked: true }, 'end ERROR platform-failure node-lost'],
  ['not when its workflow is gone', { cause: 'workflow-lost' }, 'end ERROR platform-failure workflow-lost'],
  ['a row that nobody gave a cause is the platform’s failure', { cause: null }, 'retry engine-failed 5000'],
  ['a bad image is the request’s', { cause: 'bad-image', ran: false }, 'end ERROR failure bad-image'],
  ['the maximum runtime ends it', { cause: 'max-runtime' }, 'end TERMINATED failure max-runtime'],
  [
    'an order of an attempt before says nothing once it ended otherwise',
    { cause: 'max-runtime', preempt: { cause: 'preempted', then: 'requeue' } },
    'end TERMINATED failure max-runtime',
  ],
];

test.each(cases)('%s', (_, facts, want) => {
  const settlement = settle({ ...base, ...facts });
  const told =
    settlement.next === 'end'
      ? [settlement.next, settlement.state, settlement.result, settlement.cause]
      : [settlement.next, settlement.cause, ...(settlement.next === 'retry' ? [settlement.backoffMs] : [])];
  expect(told.join(' ')).toBe(want);
});
