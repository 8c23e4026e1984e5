import { expect, test } from 'vitest';
import type { SnapshotNode } from '../../src/contract/snapshot.js';
import { demandOf } from '../../src/scheduler/demand.js';
import { nodeTable } from '../../src/scheduler/node-table.js';
import { place } from '../../src/scheduler/place.js';
import { rankedLists, rankingOf } from '../../src/scheduler/ranking.js';
import {
  copyOf,
  occupy,
  occupyIfFree,
  placedKernelsOf,
  type Room,
  roomIsFree,
  vacate,
} from '../../src/scheduler/rooms.js';
import { GIB, node, session, slots, snapshot } from './build.js';

const shared = (base: SnapshotNode, sharing: SnapshotNode['devices'][number]['sharing']): SnapshotNode => ({
  ...base,
  devices: base.devices.map((device) => ({ ...device, sharing })),
});
const rankingFor = (nodes: readonly SnapshotNode[]) => {
  const made = rankingOf(nodeTable(nodes, 'now'), snapshot({ nodes, pending: [] }).group.policy);
  rankedLists(made);
  return made;
};
const room = (name: string, gpus: readonly number[], gpuGib = 0): Room => ({
  node: name,
  deviceIds: gpus.map((d) => `${name}-${d}`),
  slots: { ...slots(1, 1, gpuGib > 0 ? 0 : gpus.length), gpuMemoryBytes: gpuGib * GIB },
});

test('a room that is promised twice comes back when either promise ends, in any order', () => {
  const made = rankingFor([node('a', { gpus: 2, held: 1 })]);
  const hold = room('a', [0]);
  occupy(made, hold);
  vacate(made, hold);
  expect(roomIsFree(made.table, hold)).toBe(false);
  vacate(made, hold);
  expect(roomIsFree(made.table, hold)).toBe(true);
  expect(made.table.gpuCount[0]).toBe(2);
});

test('occupied room moves the node in the ranking', () => {
  const made = rankingFor([node('a', { gpus: 2 }), node('b', { gpus: 2 })]);
  occupy(made, room('a', [1]));
  expect(rankedLists(made)[0]?.nodes).toEqual(Int32Array.of(1, 0));
});

test('a copy goes its own way', () => {
  const made = rankingFor([shared(node('a', { gpus: 2 }), 'mps'), node('b', { gpus: 2 })]);
  const copy = copyOf(made, 5);
  occupy(copy, room('a', [1], 12));
  occupy(copy, room('a', [0]));
  expect([copy.table.atMs, copy.table.gpuCount[0], copy.table.gpuMemoryBytes[0]]).toEqual([5, 0, 12 * GIB]);
  expect([made.table.gpuCount[0], made.table.gpuMemoryBytes[0]]).toEqual([2, 48 * GIB]);
  expect(rankedLists(made)[0]?.nodes).toEqual(Int32Array.of(0, 1));
  expect(rankedLists(copy)[0]?.nodes).toEqual(Int32Array.of(1, 0));
});

test.each([
  ['whole on a device that is free', room('a', [0]), true],
  ['whole on a device that is shared', room('a', [1]), false],
  ['12 GiB where 12 are left', room('a', [1], 12), true],
  ['12.1 GiB where 12 are left', room('a', [1], 12.1), false],
  ['a device that is gone', room('a', [7]), false],
  ['a node that is gone', room('z', [0]), false],
  ['a node that is closed', room('b', [0]), false],
] as const)('%s: free is %s', (_title, asked, free) => {
  const made = rankingFor([shared(node('a', { gpus: 2 }), 'mps'), node('b', { gpus: 1, state: 'CORDONED' })]);
  occupy(made, room('a', [1], 12));
  expect(roomIsFree(made.table, asked)).toBe(free);
});

test('several rooms are occupied all together or not at all', () => {
  const made = rankingFor([node('a', { gpus: 2 })]);
  expect(occupyIfFree(made, [room('a', [0]), room('a', [0])])).toBe(false);
  expect(made.table).toMatchObject({ gpuCount: Float64Array.of(2), cpuMilli: Float64Array.of(64_000) });
  expect(occupyIfFree(made, [room('a', [0]), room('a', [1])])).toBe(true);
});

test('a share on a hardware instance books all of it, and the instance is then taken', () => {
  const made = rankingFor([shared(node('a', { gpus: 1 }), 'mig')]);
  const asked = session(1, { kernels: [{ ...slots(1, 1), gpuMemoryBytes: 10 * GIB }] });
  const kernels = asked.kernels.map(({ id, slots: each }) => ({ kernelId: id, slots: each }));
  const attempt = place(made, demandOf(asked));
  if (typeof attempt === 'string') throw new Error(attempt);
  const [placed] = placedKernelsOf(made.table, kernels, attempt);
  expect(placed).toMatchObject({ node: 'a', deviceIds: ['a-0'], slots: { gpuMemoryBytes: 24 * GIB } });
  expect(place(made, demandOf(asked))).toBe('no-room');
  vacate(made, placed as Room);
  expect(roomIsFree(made.table, placed as Room)).toBe(true);
});
