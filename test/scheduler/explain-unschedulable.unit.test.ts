import { expect, test } from 'vitest';
import type { SnapshotNode } from '../../src/contract/snapshot.js';
import { demandOf } from '../../src/scheduler/demand.js';
import { explainUnschedulable } from '../../src/scheduler/explain-unschedulable.js';
import { nodeTable } from '../../src/scheduler/node-table.js';
import { NOW, node, session } from './build.js';

const six = Array.from({ length: 6 }, (_, i) => node(`n${i}`, { state: 'LOST' }));
const cases: [title: string, nodes: SnapshotNode[], message: string, blockers: string[]][] = [
  ['no node', [], 'group default has no node yet', ['default']],
  [
    'only new ones',
    [node('a', { cpu: 0, state: 'REGISTERED' })],
    'none of the 1 nodes of group default is READY',
    ['default'],
  ],
  [
    'none READY',
    [node('a', { state: 'CORDONED' }), node('b', { state: 'LOST' })],
    'none of the 2 nodes of group default is READY; a is CORDONED and b is LOST',
    ['a', 'b'],
  ],
  [
    'too many to name',
    six,
    'none of the 6 nodes of group default is READY; n0 is LOST, n1 is LOST, n2 is LOST, n3 is LOST and n4 is LOST, and 1 more',
    ['n0', 'n1', 'n2', 'n3', 'n4'],
  ],
  [
    'READY ones are too small',
    [node('a', { cpu: 0.5 }), node('b', { state: 'CORDONED' })],
    'none of the 1 READY nodes of group default could hold it with its healthy devices, even when empty; b is CORDONED',
    ['b'],
  ],
];
test.each([
  ['there is no node of group default among c, where it has to be', { nodes: ['c' as never], nodesRequired: true }],
  ['there is no node of group default in zone z9, where it has to be', { zone: 'z9', zoneRequired: true }],
  [
    'none of the 1 nodes of group default among b is READY; b is CORDONED',
    { nodes: ['b' as never], nodesRequired: true },
  ],
  [
    'none of the 1 READY nodes of group default among a could hold it with its healthy devices, even when empty; a leaves the group before this could be stopped',
    { nodes: ['a' as never], nodesRequired: true },
  ],
])('%s', (message, wishes) => {
  const moving = { ...node('a'), moveAt: '2026-11-30T12:00:09.000Z' };
  const empty = nodeTable([moving, node('b', { state: 'CORDONED' })], 'empty');
  empty.atMs = Date.parse(NOW);
  const asked = session(1, { wishes: { ...session(1).wishes, ...wishes } });
  expect(explainUnschedulable(empty, demandOf(asked), { group: 'default', slotOrder: ['gpuCount'] }).message).toBe(
    message,
  );
});

test.each(cases)('%s', (_title, nodes, message, blockers) => {
  const told = explainUnschedulable(nodeTable(nodes, 'empty'), demandOf(session(1)), {
    group: 'default',
    slotOrder: ['gpuCount'],
  });
  expect(told).toMatchObject({ reason: 'no_schedulable_node', message });
  expect(told.blockers.map(({ name }) => name)).toEqual(blockers);
});
