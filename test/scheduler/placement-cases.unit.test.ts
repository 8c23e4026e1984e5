import { expect, test } from 'vitest';
import type { GroupPolicy } from '../../src/contract/group-policy.js';
import type { SnapshotNode } from '../../src/contract/snapshot.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { NOW, node, session, slots, snapshot } from './build.js';

type Placement = GroupPolicy['placement'];

const placedOn = (
  nodes: readonly SnapshotNode[],
  placement: Placement,
  kernels: readonly ReturnType<typeof slots>[],
) => {
  const pending = kernels.map((each, n) => session(n + 1, { kernels: [each] }));
  return planPass(snapshot({ nodes, pending, policy: { placement } }), NOW).placed.map((each) => each.kernels[0]?.node);
};

const cpus = [node('large', { cpu: 64, usedCpu: 32 }), node('small', { cpu: 4 })];
const oneCpu = { ...slots(1, 0), memoryBytes: 0 };

test.each([
  ['dispersed', 'large'],
  ['concentrated', 'small'],
  ['least-allocated', 'small'],
  ['best-fit-devices', 'large'],
] as const)('(a) 4 CPU all free beside 64 of which 32 are free, %s: 1 CPU goes to %s', (placement, want) => {
  expect(placedOn(cpus, placement, [oneCpu])).toEqual([want]);
});

const two = [node('a', { gpus: 4 }), node('b', { gpus: 4 })];
const gpus = (counts: readonly number[]) => counts.map((count) => slots(1, 1, count));

test.each([
  ['b', 'dispersed', [1, 3, 4], ['a', 'b']],
  ['b', 'least-allocated', [1, 3, 4], ['a', 'b']],
  ['b', 'concentrated', [1, 3, 4], ['a', 'a', 'b']],
  ['b', 'best-fit-devices', [1, 3, 4], ['a', 'a', 'b']],
  ['c', 'dispersed', [4, 1, 3], ['a', 'b', 'b']],
  ['c', 'least-allocated', [4, 1, 3], ['a', 'b', 'b']],
  ['c', 'concentrated', [4, 1, 3], ['a', 'b', 'b']],
  ['c', 'best-fit-devices', [4, 1, 3], ['a', 'b', 'b']],
] as const)(
  '(%s) two nodes of 4 GPUs, %s: %j go to %j, whatever the order of the nodes',
  (_case, placement, counts, want) => {
    expect(placedOn(two, placement, gpus(counts))).toEqual(want);
    expect(placedOn(two.toReversed(), placement, gpus(counts))).toEqual(want);
  },
);
