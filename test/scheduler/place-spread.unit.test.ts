import { expect, test } from 'vitest';
import type { Slots } from '../../src/contract/slots.js';
import type { SnapshotNode } from '../../src/contract/snapshot.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { NOW, node, session, slots, snapshot } from './build.js';

const place = (
  nodes: readonly SnapshotNode[],
  kernels: readonly Slots[],
  placement: 'dispersed' | 'concentrated' = 'dispersed',
) => {
  const pending = [session(1, { kernels, clusterMode: 'multi-node' })];
  return planPass(snapshot({ nodes, pending, policy: { placement } }), NOW).placed[0];
};
const four = new Array<Slots>(4).fill(slots(1, 1, 1));

const cases: [
  title: string,
  nodes: SnapshotNode[],
  kernels: Slots[],
  placement: 'dispersed' | 'concentrated',
  want: string | undefined,
][] = [
  ['one node that holds all is preferred', [node('a', { gpus: 3 }), node('b', { gpus: 4 })], four, 'dispersed', 'bbbb'],
  [
    'then one zone',
    [node('a', { gpus: 3, zone: 'z1' }), node('b', { gpus: 2, zone: 'z2' }), node('c', { gpus: 2, zone: 'z2' })],
    four,
    'dispersed',
    'bcbc',
  ],
  [
    'then anywhere',
    [node('a', { gpus: 3, zone: 'z1' }), node('b', { gpus: 1, zone: 'z2' })],
    four,
    'dispersed',
    'aaba',
  ],
  ['nodes without a zone are no zone', [node('a', { gpus: 3 }), node('b', { gpus: 1 })], four, 'dispersed', 'aaba'],
  [
    'concentrated fills what has least left',
    [node('a', { gpus: 3 }), node('b', { gpus: 2 })],
    four,
    'concentrated',
    'bbaa',
  ],
  ['all or nothing', [node('a', { gpus: 2 }), node('b', { gpus: 1 })], four, 'dispersed', undefined],
  [
    'looks ahead where kernel by kernel fails',
    [node('a', { cpu: 6 }), node('b', { cpu: 6 })],
    [3, 2, 2, 2, 3].map((cpu) => slots(cpu, 1)),
    'dispersed',
    'abbba',
  ],
];
test.each(cases)('%s', (_title, nodes, kernels, placement, want) => {
  expect(
    place(nodes, kernels, placement)
      ?.kernels.map(({ node: name }) => name)
      .join(''),
  ).toBe(want);
});

test('the explanation says where, and by which rule', () => {
  const zoned = [node('a', { gpus: 2, zone: 'z1' }), node('b', { gpus: 2, zone: 'z1' })];
  expect(place(zoned, four)?.explanation).toBe(
    '4 kernels over a (2) and b (2); no node holds them all, zone z1 does: dispersed, the most left, kernel by kernel',
  );
  const split = [3, 2, 2, 2, 3].map((cpu) => slots(cpu, 1));
  expect(place([node('a', { cpu: 6 }), node('b', { cpu: 6 })], split)?.explanation).toMatch(
    /no node and no zone holds them all: found by looking ahead$/,
  );
});
