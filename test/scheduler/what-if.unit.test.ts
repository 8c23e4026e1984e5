import { expect, test } from 'vitest';
import { whatIf } from '../../src/scheduler/what-if.js';
import { NOW, node, type SessionShape, session, slots, snapshot } from './build.js';

const waiting = [session(1, { kernels: [slots(1, 1, 1)] }), session(2, { kernels: [slots(1, 1, 2)] })];
const given = snapshot({ nodes: [node('a', { gpus: 2 })], pending: waiting });
const ask = (shape: SessionShape) => whatIf(given, session(3, shape), NOW);

test.each([
  ['behind the one that blocks', {}, 3, 'waits', 'behind_in_queue'],
  ['ahead of all by priority', { priority: 90 }, 1, 'placed', undefined],
  ['ahead of all, but too large', { priority: 90, kernels: [slots(1, 1, 3)] }, 1, 'refused', 'too_large_for_any_node'],
] as const)('%s', (_title, shape, position, outcome, reason) => {
  const answer = ask({ ...shape, ...('kernels' in shape && { kernels: [...shape.kernels] }) });
  expect(answer).toMatchObject({ position, outcome });
  expect(answer.waiting?.reason).toBe(reason);
});

test('a session that waits already is asked about once', () => {
  expect(whatIf(given, { ...(waiting[0] as (typeof waiting)[number]), priority: 5 }, NOW)).toMatchObject({
    position: 2,
    outcome: 'waits',
  });
});
