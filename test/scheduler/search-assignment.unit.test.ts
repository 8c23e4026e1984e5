import { expect, test } from 'vitest';
import { demandOf, kernelClasses } from '../../src/scheduler/demand.js';
import { type Room, searchAssignment } from '../../src/scheduler/search-assignment.js';
import { GIB, session, slots } from './build.js';

const room = (cpu: number, gpuCount = 0): Room => ({ cpuMilli: cpu * 1000, memoryBytes: 64 * GIB, gpuCount });
const classes = (...kernels: ReturnType<typeof slots>[]) =>
  kernelClasses(demandOf(session(1, { clusterMode: 'multi-node', kernels })));
const many = <T>(count: number, value: T): T[] => new Array<T>(count).fill(value);

test('finds the only assignment where the greedy choice is wrong', () => {
  // 3 + 3 and 2 + 2 + 2 fill two rooms of 6; 3 + 2 in one leaves no room for the rest.
  const asked = classes(...many(2, slots(3, 1)), ...many(3, slots(2, 1)));
  expect(searchAssignment({ rooms: [room(6), room(6)], classes: asked })).toEqual({
    counts: [
      [2, 0],
      [0, 3],
    ],
  });
});

test('proves that there is none although each amount suffices in sum', () => {
  const asked = classes(...many(2, slots(3, 1)), ...many(2, slots(2, 1)));
  expect(searchAssignment({ rooms: [room(5), room(4), room(1)], classes: asked })).toBe('none');
});

test('a main beside 255 workers over a thousand nodes stays far below the budget', () => {
  const asked = classes(slots(1, 1, 1), ...many(255, slots(2, 1)));
  const rooms = [...many(999, room(2)), room(3, 1)];
  expect(searchAssignment({ rooms, classes: asked }, 5000)).not.toBe('gave-up');
  expect(searchAssignment({ rooms: many(1000, room(2, 0)), classes: asked }, 5000)).toBe('none');
});

test('says that it gave up when the budget ends first', () => {
  const asked = classes(...many(2, slots(3, 1)), ...many(3, slots(2, 1)));
  expect(searchAssignment({ rooms: [room(6), room(6)], classes: asked }, 0)).toBe('gave-up');
});

test('256 kernels of 64 kinds on 2000 nodes do not exhaust the stack', () => {
  const asked = classes(...Array.from({ length: 256 }, (_, k) => slots(1 + (k % 64) / 100, 1)));
  expect(searchAssignment({ rooms: many(2000, room(1.7)), classes: asked })).toHaveProperty('counts');
});
