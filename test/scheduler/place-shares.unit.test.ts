import { expect, test } from 'vitest';
import type { Slots } from '../../src/contract/slots.js';
import type { SnapshotNode } from '../../src/contract/snapshot.js';
import { demandOf } from '../../src/scheduler/demand.js';
import { nodeTable } from '../../src/scheduler/node-table.js';
import { place } from '../../src/scheduler/place.js';
import { rankingOf } from '../../src/scheduler/ranking.js';
import { placedKernelsOf } from '../../src/scheduler/rooms.js';
import { GIB, node, type SessionShape, session, share, slots, snapshot } from './build.js';

/** The devices of each session in turn, kernels apart by a space, or `-` when it finds no room. */
function placeAll(
  nodes: readonly SnapshotNode[],
  asked: readonly SessionShape[],
  { allowUnenforcedSharing = false } = {},
): readonly string[] {
  const table = nodeTable(nodes, 'now', { allowUnenforcedSharing });
  const ranking = rankingOf(table, snapshot({ nodes, pending: [] }).group.policy);
  return asked.map((shape, n) => {
    const each = session(n, shape);
    const attempt = place(ranking, demandOf(each));
    if (typeof attempt === 'string') return '-';
    const kernels = each.kernels.map(({ id, slots: amounts }) => ({ kernelId: id, slots: amounts }));
    return placedKernelsOf(table, kernels, attempt)
      .map(({ deviceIds }) => deviceIds.join())
      .join(' ');
  });
}
const one = (kernel: Slots, rest: SessionShape = {}): SessionShape => ({ kernels: [kernel], ...rest });
const mps = (gpus: number, shape = {}): SnapshotNode => node('a', { gpus, sharing: 'mps', ...shape });

const cases: [title: string, nodes: SnapshotNode[], asked: SessionShape[], want: string[]][] = [
  [
    'two shares of 12 GiB fit one device of 24',
    [mps(1)],
    [one(share(12)), one(share(12)), one(share(1))],
    ['a-0', 'a-0', '-'],
  ],
  ['12.1 does not join 12 of 24', [mps(1)], [one(share(12)), one(share(12.1))], ['a-0', '-']],
  [
    '10 + 10 GiB free on two devices is not 20',
    [mps(2, { shared: [14, 14] })],
    [one(share(20)), one(share(10))],
    ['-', 'a-0'],
  ],
  [
    'the fullest device that fits first',
    [mps(3, { shared: [0, 8, 12] })],
    [one(share(12)), one(share(12)), one(share(12))],
    ['a-2', 'a-1', 'a-0'],
  ],
  [
    'of equal room the shared device before the empty one',
    [mps(2, { memoryGib: [12, 24], shared: [0, 12] })],
    [one(share(6)), one(share(6)), one(share(6))],
    ['a-1', 'a-1', 'a-0'],
  ],
  [
    'a device is whole or shared at a time',
    [mps(2)],
    [one(slots(1, 1, 1)), one(share(4)), one(slots(1, 1, 1)), one(share(4))],
    ['a-0', 'a-1', '-', 'a-1'],
  ],
  ['a whole device goes past the shared one', [mps(2)], [one(share(4)), one(slots(1, 1, 1))], ['a-0', 'a-1']],
  [
    'a hardware instance takes one share, the smallest that fits first, and is never had whole',
    [node('a', { gpus: 3, sharing: 'mig', memoryGib: [40, 10, 20] })],
    [one(share(8)), one(share(8)), one(share(1)), one(share(1)), one(slots(1, 1, 1))],
    ['a-1', 'a-2', 'a-0', '-', '-'],
  ],
  ['no share where nothing enforces it', [node('a', { gpus: 1 })], [one(share(1))], ['-']],
  ['a broken device takes none', [mps(2, { broken: 1 })], [one(share(20)), one(share(20))], ['a-0', '-']],
  [
    'a pinned model binds shares, too',
    [mps(2, { models: ['t4', 'h200'] })],
    [one(share(4), { gpuModel: 'h200' }), one(share(22), { gpuModel: 'h200' }), one(share(22), { gpuModel: 't4' })],
    ['a-1', '-', 'a-0'],
  ],
  [
    'kernels on one node are packed together: 14, 10, 12, 12 on two of 24',
    [mps(2)],
    [{ kernels: [share(12), share(14), share(12), share(10)] }],
    ['a-1 a-0 a-1 a-0'],
  ],
  [
    'a whole device is the one of least use to the shares beside it',
    [mps(2, { memoryGib: [48, 24] })],
    [{ kernels: [slots(1, 1, 1), share(30)] }],
    ['a-1 a-0'],
  ],
  [
    'shares over nodes look ahead: 20 + 4 and 12 + 12 on two devices',
    [node('a', { gpus: 1, sharing: 'mps' }), node('b', { gpus: 1, sharing: 'mps' })],
    [{ clusterMode: 'multi-node', kernels: [share(4), share(12), share(12), share(20)] }],
    ['a-0 b-0 b-0 a-0'],
  ],
  ['a kernel that wants both is never placed', [mps(2)], [one({ ...share(4), gpuCount: 1 })], ['-']],
];
test.each(cases)('%s', (_title, nodes, asked, want) => expect(placeAll(nodes, asked)).toEqual(want));

test('a group may allow shares that nothing enforces', () => {
  expect(placeAll([node('a', { gpus: 1 })], [one(share(1))], { allowUnenforcedSharing: true })).toEqual(['a-0']);
});

test.each([
  [
    'mps',
    'a: the only node with room; 8 GiB of a-0 (24 GiB, mps: its memory is limited, it runs together with others)',
    8,
  ],
  [
    'memory-limit',
    'a: the only node with room; 8 GiB of a-0 (24 GiB, memory-limit: its memory is limited, it takes turns with others)',
    8,
  ],
  ['mig', 'a: the only node with room; 8 GiB of a-0 (24 GiB, mig: a hardware instance, booked whole)', 24],
  ['none', 'a: the only node with room; 8 GiB of a-0 (24 GiB, none: nothing enforces the limit of its memory)', 8],
] as const)('the explanation tells what a %s share is', (sharing, want, booked) => {
  const table = nodeTable([node('a', { gpus: 1, sharing })], 'now', { allowUnenforcedSharing: true });
  const ranking = rankingOf(table, snapshot({ nodes: [], pending: [] }).group.policy);
  const asked = session(1, one(share(8)));
  const attempt = place(ranking, demandOf(asked));
  if (typeof attempt === 'string') throw new Error(attempt);
  expect(attempt.explanation).toBe(want);
  const kernels = asked.kernels.map(({ id, slots: amounts }) => ({ kernelId: id, slots: amounts }));
  expect(placedKernelsOf(table, kernels, attempt)[0]?.slots.gpuMemoryBytes).toBe(booked * GIB);
});
