import { expect, test } from 'vitest';
import { compareQueueOrder, inQueueOrder, type QueueKey } from '../../src/scheduler/queue-order.js';

const at = (id: string, priority: number, submittedAt: string): QueueKey => ({ id, priority, submittedAt });
const EARLY = '2026-11-30T10:00:00.000Z';
const LATE = '2026-11-30T10:00:01.000Z';

const cases: [title: string, first: QueueKey, second: QueueKey][] = [
  ['the higher priority goes first, also when submitted later', at('b', 20, LATE), at('a', 10, EARLY)],
  ['of one priority the earlier submission goes first', at('b', 10, EARLY), at('a', 10, LATE)],
  ['of one moment the lower id goes first', at('a', 10, EARLY), at('b', 10, EARLY)],
  ['an offset is the moment that it means', at('b', 10, '2026-11-30T11:00:00.000+02:00'), at('a', 10, EARLY)],
  ['one moment in two forms is one moment', at('a', 10, '2026-11-30T12:00:00.000+02:00'), at('b', 10, EARLY)],
];
test.each(cases)('%s', (_title, first, second) => {
  expect(Math.sign(compareQueueOrder(first, second))).toBe(-1);
  expect(Math.sign(compareQueueOrder(second, first))).toBe(1);
  expect(inQueueOrder([second, first])).toEqual([first, second]);
});

test('a queue in order is returned as it is, without a copy', () => {
  const queue = [at('a', 10, EARLY), at('b', 10, LATE)];
  expect(inQueueOrder(queue)).toBe(queue);
});

test('a queue out of order is copied, not changed', () => {
  const queue = [at('b', 10, LATE), at('a', 10, EARLY)];
  inQueueOrder(queue);
  expect(queue.map(({ id }) => id)).toEqual(['b', 'a']);
});
