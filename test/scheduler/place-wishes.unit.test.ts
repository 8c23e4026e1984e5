import { expect, test } from 'vitest';
import type { SnapshotNode, SnapshotWishes } from '../../src/contract/snapshot.js';
import { demandOf } from '../../src/scheduler/demand.js';
import { nodeTable } from '../../src/scheduler/node-table.js';
import { place, unplace } from '../../src/scheduler/place.js';
import { type Around, rankingOf } from '../../src/scheduler/ranking.js';
import { node, type SessionShape, session, slots, snapshot } from './build.js';

const rankingFor = (nodes: readonly SnapshotNode[], around: Around = {}) =>
  rankingOf(nodeTable(nodes, 'now'), snapshot({ nodes, pending: [] }).group.policy, around);

/** The node of each kernel, of each session in turn; `-` for one that finds no room. */
function placeAll(nodes: readonly SnapshotNode[], asked: readonly SessionShape[], around: Around = {}): string {
  const ranking = rankingFor(nodes, around);
  return asked
    .map((shape, n) => place(ranking, demandOf(session(n, shape))))
    .map((attempt) =>
      typeof attempt === 'string' ? '-' : attempt.nodeOfKernel.map((i) => ranking.table.nodes[i]?.name).join(''),
    )
    .join(' ');
}
const wish = (wishes: Partial<Omit<SnapshotWishes, 'nodes'>> & { nodes?: string[] }, rest: SessionShape = {}) =>
  ({ ...rest, wishes: { ...session(1).wishes, ...(wishes as Partial<SnapshotWishes>) } }) satisfies SessionShape;

const abc = [
  node('a', { gpus: 4, zone: 'z1' }),
  node('b', { gpus: 2, zone: 'z2' }),
  node('c', { gpus: 1, zone: 'z2' }),
];
const two = [slots(1, 1, 1), slots(1, 1, 1)];
const apart: SessionShape = { clusterMode: 'multi-node', kernels: [slots(1, 1, 2), slots(1, 1, 2)] };
const gpus = (count: number): SessionShape => ({ kernels: [slots(1, 1, count)] });

const cases: [title: string, nodes: SnapshotNode[], asked: SessionShape[], want: string][] = [
  ['without a wish the policy decides', abc, [gpus(1)], 'a'],
  ['a preferred node comes first', abc, [wish({ nodes: ['c'] }, gpus(1))], 'c'],
  ['… as long as it has room', abc, [wish({ nodes: ['c'] }, gpus(1)), wish({ nodes: ['c'] }, gpus(1))], 'c a'],
  ['a required node is waited for', abc, [wish({ nodes: ['c'], nodesRequired: true }, gpus(2))], '-'],
  [
    'of several designated ones the policy decides',
    abc,
    [wish({ nodes: ['c', 'b'], nodesRequired: true }, gpus(1))],
    'b',
  ],
  ['a preferred zone comes first', abc, [wish({ zone: 'z2' }, gpus(1))], 'b'],
  ['… as long as it has room', abc, [wish({ zone: 'z2' }, gpus(3))], 'a'],
  ['a required zone is waited for', abc, [wish({ zone: 'z2', zoneRequired: true }, gpus(3))], '-'],
  ['a node outweighs a zone', abc, [wish({ nodes: ['a'], zone: 'z2' }, gpus(1))], 'a'],
  [
    'kernels that may lie apart go to the preferred nodes together',
    abc,
    [wish({ nodes: ['b', 'c'] }, { clusterMode: 'multi-node', kernels: [...two, slots(1, 1, 1)] })],
    'bcb',
  ],
  ['… or where they can', abc, [wish({ nodes: ['b', 'c'] }, apart)], 'aa'],
  [
    'a zone that holds them apart before another node that holds them together',
    abc,
    [wish({ zone: 'z2' }, { clusterMode: 'multi-node', kernels: [...two, slots(1, 1, 1)] })],
    'bcb',
  ],
  [
    'a replica group spreads over nodes, its own ones counted as they are placed',
    abc,
    ['spread', 'spread', 'spread', 'spread'].map((spread) =>
      wish({ spread: spread as 'spread', replicaGroup: 'llm' }, gpus(1)),
    ),
    'a b c a',
  ],
  [
    'a replica group packs onto as few as it can',
    [node('a', { gpus: 2 }), node('b', { gpus: 2 })],
    ['pack', 'pack', 'pack'].map((spread) => wish({ spread: spread as 'pack', replicaGroup: 'llm' }, gpus(1))),
    'a a b',
  ],
  ['a node where it failed is not used', abc, [{ ...gpus(1), avoid: ['a'] }], 'b'],
  ['… and waited for is one where it did not fail', [node('a'), node('b', { usedCpu: 64 })], [{ avoid: ['a'] }], '-'],
  ['… unless no other could ever hold it', abc, [{ ...gpus(3), avoid: ['a'] }], 'a'],
  ['… or all that it may use failed', abc, [wish({ nodes: ['a'], nodesRequired: true }, { avoid: ['a'] })], 'a'],
  ['a closed node is no other', [node('a'), node('b', { state: 'UNHEALTHY' })], [{ avoid: ['a'] }], 'a'],
];
test.each(cases)('%s', (_title, nodes, asked, want) => expect(placeAll(nodes, asked)).toBe(want));

test('sessions of the replica group that run already count, those of another project do not', () => {
  const kernel = { kernelId: session(9).kernels[0]?.id as never, deviceIds: [], slots: slots(1, 1) };
  const running = [
    { projectId: 'prj_vision', replicaGroup: 'llm', kernels: [{ ...kernel, node: 'a' }] },
    { projectId: 'prj_speech', replicaGroup: 'llm', kernels: [{ ...kernel, node: 'b' }] },
  ];
  expect(placeAll(abc, [wish({ spread: 'spread', replicaGroup: 'llm' }, gpus(1))], { running })).toBe('b');
});

test('undoing a placement of a replica takes its count back', () => {
  const ranking = rankingFor(abc);
  const demand = demandOf(session(1, wish({ spread: 'spread', replicaGroup: 'llm' }, gpus(1))));
  for (let n = 0; n < 2; n += 1) {
    const attempt = place(ranking, demand);
    if (typeof attempt === 'string') throw new Error(attempt);
    expect(attempt.nodeOfKernel).toEqual([0]);
    unplace(ranking, demand, attempt);
  }
});

test.each([
  [{ minRuntimeSeconds: 50, gracePeriodSeconds: 10 }, 'a'],
  [{ minRuntimeSeconds: 50, gracePeriodSeconds: 11 }, 'b'],
])('a node that moves in 60 s takes %j on %s', (asked, want) => {
  const moving = [{ ...node('a', { gpus: 2 }), moveAt: '2026-11-30T12:01:00.000Z' }, node('b', { gpus: 1 })];
  expect(placeAll(moving, [{ ...gpus(1), ...asked }], { atMs: Date.parse('2026-11-30T12:00:00Z') })).toBe(want);
});

test.each(['DRAINING', 'DRAINED', 'UNHEALTHY', 'CORDONED', 'LOST', 'REGISTERED'] as const)(
  'nothing is placed on a %s node',
  (state) => expect(placeAll([node('a', { state })], [{}])).toBe('-'),
);

test.each([
  [wish({ nodes: ['c'] }, gpus(1)), 'c: it is one of the nodes that the request prefers; a has room, too'],
  [wish({ zone: 'z1' }, gpus(1)), 'a: it is in zone z1, which the request prefers; b has room, too'],
  [
    wish({ spread: 'spread', replicaGroup: 'llm' }, gpus(1)),
    'a: dispersed, the most left (4 GPU, 96 GiB of GPU memory, 64 CPU, 256 GiB of memory) of the nodes with room, before b; ties by name',
  ],
  [
    { image: 'pytorch' },
    'd: dispersed, the most left (64 CPU, 256 GiB of memory) of the nodes with room, before p; its image or folders are there already',
  ],
])('the explanation tells the wish that decided: %#', (shape, want) => {
  const nodes = [...abc, { ...node('d'), images: ['pytorch'] }, node('p')];
  const attempt = place(rankingFor(nodes), demandOf(session(1, shape)));
  expect(typeof attempt === 'string' ? attempt : attempt.explanation).toBe(want);
});
