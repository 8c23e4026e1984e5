import { expect, test } from 'vitest';
import { PLACEMENTS } from '../../src/contract/group-policy.js';
import type { SnapshotNode } from '../../src/contract/snapshot.js';
import { demandOf } from '../../src/scheduler/demand.js';
import { deviceViewOf, nodeTable } from '../../src/scheduler/node-table.js';
import { preferenceOf } from '../../src/scheduler/preference.js';
import { type Ranking, rankingOf } from '../../src/scheduler/ranking.js';
import { GIB, node, type SessionShape, session, slots, snapshot } from './build.js';

type Placement = Ranking['placement'];

/** The names of the nodes, first to last, for a session. */
function order(nodes: readonly SnapshotNode[], placement: Placement, shape: SessionShape): string {
  const table = nodeTable(nodes, 'now');
  const ranking = rankingOf(table, { ...snapshot({ nodes, pending: [] }).group.policy, placement });
  const demand = demandOf(session(1, shape));
  const free = deviceViewOf(table, demand.gpuModel);
  const { compare } = preferenceOf(ranking, demand, { unit: demand.total, free, mask: table.open });
  return [...table.nodes.keys()]
    .toSorted(compare)
    .map((i) => table.nodes[i]?.name)
    .join(' ');
}
const share = (gib: number) => ({ ...slots(1, 1), gpuMemoryBytes: Math.round(gib * GIB) });
const mps = (name: string, shares: readonly number[], cpu = 64): SnapshotNode => {
  const base = node(name, { gpus: shares.length, cpu });
  const devices = base.devices.map((device, d) => ({
    ...device,
    sharing: 'mps' as const,
    shares: shares[d] === 0 ? [] : [{ kernelId: 'krn_other', memoryBytes: (shares[d] as number) * GIB }],
  }));
  return { ...base, devices };
};

test.each(PLACEMENTS)('%s: fewer kinds of resource beyond what is used come first', (placement) => {
  expect(order([node('gpu', { cpu: 64, gpus: 1, held: 1 }), node('plain', { cpu: 8 })], placement, {})).toBe(
    'plain gpu',
  );
});

test.each(PLACEMENTS)(
  '%s: of equal nodes the one that holds the image and folders comes first, then the name',
  (placement) => {
    const nodes = [
      node('a'),
      { ...node('b'), images: ['pytorch'] },
      { ...node('c'), images: ['other', 'pytorch'], folders: ['llama'] },
      node('d'),
    ];
    expect(order(nodes, placement, { image: 'pytorch', folders: ['llama', 'gone'] })).toBe('c b a d');
  },
);

test.each(PLACEMENTS)('%s: an image never outweighs the policy', (placement) => {
  const [better, worse] = placement === 'concentrated' || placement === 'best-fit-devices' ? ['a', 'b'] : ['b', 'a'];
  const nodes = [node('a', { cpu: 8, usedCpu: 4 }), node('b', { cpu: 8, usedCpu: 2 })];
  const warm = nodes.map((each) => (each.name === worse ? { ...each, images: ['pytorch'] } : each));
  expect(order(warm, placement, { image: 'pytorch' })).toBe(`${better} ${worse}`);
});

test.each([
  [
    'of one slot, the larger part: 3/4 before 31/64',
    slots(1, 0),
    [node('b', { cpu: 4 }), node('a', { cpu: 64, usedCpu: 32 })],
    'b a',
  ],
  [
    'averaged over the slots that are named: CPU (3/4 + 9/10) before (7/8 + 1/2)',
    slots(1, 1),
    [node('b', { cpu: 4, gib: 10 }), node('a', { cpu: 8, gib: 2 })],
    'b a',
  ],
  [
    'equal parts of other sizes tie by name',
    slots(1, 1),
    [node('b', { cpu: 4, gib: 8 }), node('a', { cpu: 8, usedCpu: 1, gib: 16, usedGib: 1 })],
    'a b',
  ],
  [
    'parts that differ by less than a float shows',
    slots(0, 0.5),
    [node('a', { gib: 2 ** 19 }), node('b', { gib: 2 ** 19 + 0.5 })],
    'b a',
  ],
  ['GPUs count by part, too', slots(0, 0, 1), [node('a', { gpus: 8, held: 4 }), node('b', { gpus: 2 })], 'b a'],
] as const)('least-allocated: %s', (_title, asked, nodes, want) => {
  expect(order(nodes, 'least-allocated', { kernels: [asked] })).toBe(want);
});

test.each([
  ['a share joins a shared device before it breaks a free one', share(4), [mps('a', [0]), mps('b', [16])], 'b a'],
  ['… and the device that it fills best', share(4), [mps('a', [12]), mps('b', [16])], 'b a'],
  [
    'a node in use before one that is wholly free',
    slots(1, 1, 1),
    [node('a', { gpus: 4 }), node('b', { gpus: 8, held: 3, usedCpu: 1 })],
    'b a',
  ],
  [
    'the fewest devices left',
    slots(1, 1, 2),
    [node('a', { gpus: 8, held: 4, usedCpu: 1 }), node('b', { gpus: 8, held: 5, usedCpu: 1 })],
    'b a',
  ],
  [
    'then the least of the rest',
    slots(1, 1, 2),
    [node('a', { gpus: 8, held: 4, usedCpu: 1 }), node('b', { gpus: 8, held: 4, usedCpu: 2 })],
    'b a',
  ],
] as const)('best-fit-devices: %s', (_title, asked, nodes, want) => {
  expect(order(nodes, 'best-fit-devices', { kernels: [asked] })).toBe(want);
});
