import { expect, test } from 'vitest';
import { unitOf } from '../../src/scheduler/demand.js';
import { deviceViewOf, holds, isKnown, nodeTable, openNodesOf, type View } from '../../src/scheduler/node-table.js';
import { GIB, type NodeShape, node, slots } from './build.js';

const shape: NodeShape = { cpu: 8, usedCpu: 3, gib: 32, usedGib: 8, gpus: 4, held: 1, broken: 1 };

test.each([
  ['now', 5000, 24, 2],
  ['empty', 8000, 32, 3],
  ['ever', 8000, 32, 4],
] as [View, number, number, number][])(
  'view %s leaves %d millicores, %d GiB, %d devices',
  (view, cpuMilli, gib, gpus) => {
    const table = nodeTable([node('a', shape)], view);
    expect([table.cpuMilli[0], table.memoryBytes[0], table.gpuCount[0]]).toEqual([cpuMilli, gib * GIB, gpus]);
    expect(table.gpuMemoryBytes[0]).toBe(gpus * 24 * GIB);
  },
);

test.each([
  ['READY', 1, 1],
  ['CORDONED', 0, 1],
  ['LOST', 0, 1],
  ['REGISTERED', 0, 1],
] as const)('a %s node is open now: %d, ever: %d', (state, now, ever) => {
  expect(nodeTable([node('a', { state })], 'now').open[0]).toBe(now);
  expect(nodeTable([node('a', { state })], 'ever').open[0]).toBe(ever);
});

test('a node that never reported a capacity is not known', () => {
  expect(isKnown(node('a', { cpu: 0, gib: 0, state: 'REGISTERED' }))).toBe(false);
  expect(nodeTable([node('a', { cpu: 0, gib: 0 })], 'ever').open[0]).toBe(0);
});

test('nodes stand by name, whatever order they come in', () => {
  expect(nodeTable([node('b'), node('a')], 'now').nodes.map(({ name }) => name)).toEqual(['a', 'b']);
});

test('an architecture closes the nodes of another', () => {
  const table = nodeTable([node('a'), node('b', { architecture: 'arm64' }), node('c', { state: 'LOST' })], 'now');
  expect([...openNodesOf(table, null)]).toEqual([1, 1, 0]);
  expect([...openNodesOf(table, 'arm64')]).toEqual([0, 1, 0]);
});

test.each([
  [slots(64, 256, 2), true],
  [slots(64.001, 256, 2), false],
  [slots(64, 257, 2), false],
  [slots(64, 256, 3), false],
])('a node with exactly as much holds it, with less it does not: %j', (asked, fits) => {
  const table = nodeTable([node('a', { gpus: 2 })], 'now');
  expect(holds(table, 0, { unit: unitOf(asked), free: deviceViewOf(table, null) })).toBe(fits);
});
