import { expect, test } from 'vitest';
import type { Slots } from '../../src/contract/slots.js';
import type { SnapshotNode } from '../../src/contract/snapshot.js';
import { demandOf, unitOf } from '../../src/scheduler/demand.js';
import { deviceViewOf, nodeTable } from '../../src/scheduler/node-table.js';
import { pickNode } from '../../src/scheduler/pick-node.js';
import { rankingOf } from '../../src/scheduler/ranking.js';
import { node, session, slots, snapshot } from './build.js';

const cases: [
  title: string,
  placement: 'dispersed' | 'concentrated',
  asked: Slots,
  nodes: SnapshotNode[],
  want: (string | undefined)[],
][] = [
  [
    'the absolute amount counts, not the share: 32 of 64 before 4 of 4',
    'dispersed',
    slots(1, 1),
    [node('small', { cpu: 4 }), node('large', { cpu: 64, usedCpu: 32 })],
    ['large', 'small'],
  ],
  [
    'concentrated takes the least left',
    'concentrated',
    slots(1, 1),
    [node('small', { cpu: 4 }), node('large', { cpu: 64, usedCpu: 32 })],
    ['small', 'large'],
  ],
  ['a tie goes to the lower name', 'dispersed', slots(1, 1), [node('b'), node('a')], ['a', 'b']],
  [
    'a CPU job keeps off GPU nodes',
    'dispersed',
    slots(1, 1),
    [node('gpu', { cpu: 64, gpus: 8 }), node('plain', { cpu: 2 })],
    ['plain', 'gpu'],
  ],
  [
    '… unless they alone have room',
    'dispersed',
    slots(4, 1),
    [node('gpu', { cpu: 64, gpus: 8 }), node('plain', { cpu: 2 })],
    ['gpu', undefined],
  ],
  [
    'a node without room is read over',
    'dispersed',
    slots(1, 1, 1),
    [node('a', { gpus: 8, cpu: 1, usedCpu: 1 }), node('b', { gpus: 1 })],
    ['b', undefined],
  ],
  [
    'a node that is not READY is not looked at',
    'dispersed',
    slots(1, 1),
    [node('a', { state: 'CORDONED' })],
    [undefined, undefined],
  ],
];
test.each(cases)('%s', (_title, placement, asked, nodes, want) => {
  const table = nodeTable(nodes, 'now');
  const ranking = rankingOf(table, { ...snapshot({ nodes, pending: [] }).group.policy, placement });
  const candidates = { unit: unitOf(asked), mask: table.open, free: deviceViewOf(table, null) };
  const picked = pickNode(ranking, demandOf(session(1, { kernels: [asked] })), candidates);
  expect([picked?.node, picked?.next].map((i) => table.nodes[i ?? -1]?.name)).toEqual(want);
});
