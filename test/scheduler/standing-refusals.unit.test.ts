import { expect, test } from 'vitest';
import { demandOf } from '../../src/scheduler/demand.js';
import {
  emptyNodes,
  neverRefusal,
  standingRefusals,
  unschedulableRefusal,
} from '../../src/scheduler/standing-refusals.js';
import { node, session, slots } from './build.js';

const standing = () =>
  standingRefusals({
    group: 'default',
    nodes: [node('a', { gpus: 1, held: 1 }), node('b', { gpus: 2, state: 'LOST' })],
    slotOrder: ['gpuCount'],
  });
const gpus = (count: number, n = 1) => demandOf(session(n, { kernels: [slots(1, 1, count)] }));

test.each([
  ['held by others only', 1, undefined, undefined],
  ['on a lost node', 2, undefined, 'no_schedulable_node'],
  ['on no node', 3, 'too_large_for_any_node', 'no_schedulable_node'],
] as const)('room %s', (_title, count, never, unschedulable) => {
  expect(neverRefusal(standing(), gpus(count))?.reason).toBe(never);
  expect(unschedulableRefusal(standing(), gpus(count))?.reason).toBe(unschedulable);
});

test('requests of one shape are looked at once', () => {
  const made = standing();
  expect(neverRefusal(made, gpus(3, 1))).toBe(neverRefusal(made, gpus(3, 2)));
  expect(emptyNodes(made)).toBe(emptyNodes(made));
});
