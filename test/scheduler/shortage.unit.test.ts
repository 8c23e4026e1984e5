import { expect, test } from 'vitest';
import type { SlotName } from '../../src/contract/slots.js';
import { unitOf } from '../../src/scheduler/demand.js';
import { deviceViewOf, nodeTable } from '../../src/scheduler/node-table.js';
import { capacityOf, lacksOn, lackText, nearestNode, neededSlots } from '../../src/scheduler/shortage.js';
import { node, slots } from './build.js';

test.each([
  [['cpuMilli'], ['cpuMilli', 'gpuCount', 'gpuMemoryBytes', 'memoryBytes']],
  [
    ['gpuMemoryBytes', 'memoryBytes'],
    ['gpuMemoryBytes', 'memoryBytes', 'gpuCount', 'cpuMilli'],
  ],
] as [SlotName[], string[]][])('slots of policy %j are told as %j', (order, want) =>
  expect(neededSlots(order)).toEqual(want),
);

const table = nodeTable(
  [node('a', { cpu: 8, gpus: 2 }), node('b', { cpu: 2, gpus: 3 }), node('c', { cpu: 2, gpus: 3 })],
  'now',
);
const wanted = { unit: unitOf(slots(8, 1, 4)), free: deviceViewOf(table, null), gpuModel: null };

test.each([
  ['GPU first', ['gpuCount', 'cpuMilli'], 'b'],
  ['CPU first', ['cpuMilli', 'gpuCount'], 'a'],
] as const)('the nearest lacks least, %s; a tie goes to the lower name', (_title, slotOrder, want) => {
  const slotsOf = neededSlots(slotOrder);
  expect(table.nodes[nearestNode(table, table.open, { wanted, slots: slotsOf })]?.name).toBe(want);
});

test('of no node none is nearest', () => {
  expect(nearestNode(table, new Uint8Array(3), { wanted, slots: ['cpuMilli'] })).toBe(-1);
});

test('only what lacks is told', () => {
  const lacks = lacksOn(table, 0, { wanted, slots: neededSlots([]) });
  expect(lacks).toEqual([{ slot: 'gpuCount', need: 4, free: 2 }]);
  expect(lackText(lacks, { subject: 'needs', gpuModel: 't4', where: (free) => `there is ${free}` })).toBe(
    'needs 4 GPU (t4); there is 2 GPU: 2 more needed',
  );
});

test('a node that is used beyond its capacity has nothing free, not less', () => {
  const shrunk = nodeTable([node('a', { cpu: 2, usedCpu: 5 })], 'now');
  expect(lacksOn(shrunk, 0, { wanted: { ...wanted, free: deviceViewOf(shrunk, null) }, slots: ['cpuMilli'] })).toEqual([
    { slot: 'cpuMilli', need: 8000, free: 0 },
  ]);
});

test('capacity in devices counts the healthy ones of the model', () => {
  const mixed = node('a', { models: ['t4', 'h200', 'h200'], broken: 1 });
  expect([
    capacityOf(mixed, 'gpuCount', null),
    capacityOf(mixed, 'gpuCount', 'h200'),
    capacityOf(mixed, 'cpuMilli', null),
  ]).toEqual([2, 1, 64_000]);
});
