import { expect, test } from 'vitest';
import type { Session } from '../../src/contract/index.js';
import { hasReached, MILESTONES, type Milestone } from '../../src/lifecycle/milestones.js';

const AT = '2026-11-30T12:00:00.000Z';
type Given = Pick<Session, 'state' | 'health' | 'startedAt'>;
const session = (state: Session['state'], more: Partial<Given> = {}): Given => ({
  state,
  health: 'none',
  startedAt: null,
  ...more,
});

const rows: readonly (readonly [title: string, given: Given, reached: readonly Milestone[]])[] = [
  ['a submission has reached nothing', session('SUBMITTED'), []],
  ['a waiting one is admitted', session('PENDING'), ['admitted']],
  ['one that was put back waits for its placement again', session('PENDING', { startedAt: AT }), ['admitted']],
  ['a placed one', session('SCHEDULED'), ['admitted', 'placed']],
  ['a starting one', session('CREATING'), ['admitted', 'placed']],
  ['a running one', session('RUNNING', { startedAt: AT }), ['admitted', 'placed', 'running', 'healthy']],
  [
    'a running one whose check has not succeeded',
    session('RUNNING', { startedAt: AT, health: 'starting' }),
    ['admitted', 'placed', 'running'],
  ],
  ['a preempted one has run', session('PREEMPTING', { startedAt: AT }), ['admitted', 'placed', 'running', 'healthy']],
  ['one that ends without having run', session('TERMINATING'), ['admitted', 'placed']],
  ['an ended one: nobody waits for it', session('CANCELLED'), MILESTONES],
];

test.each(rows)('%s', (_title, given, reached) => {
  expect(MILESTONES.filter((milestone) => hasReached(given, milestone))).toEqual(reached);
});
