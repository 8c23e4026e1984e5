import { expect, test } from 'vitest';
import type { SnapshotNode } from '../../src/contract/snapshot.js';
import { demandOf } from '../../src/scheduler/demand.js';
import { explainBlocked } from '../../src/scheduler/explain-blocked.js';
import { nodeTable } from '../../src/scheduler/node-table.js';
import { node, type SessionShape, session, share, slots } from './build.js';

const explain = (asked: SessionShape, nodes: readonly SnapshotNode[], gaveUp = false) => {
  const tables = { now: nodeTable(nodes, 'now'), empty: nodeTable(nodes, 'empty') };
  return explainBlocked({ ...tables, group: 'default', slotOrder: ['gpuCount'], gaveUp }, demandOf(session(1, asked)));
};

const cases: [title: string, asked: SessionShape, nodes: SnapshotNode[], reason: string, message: string][] = [
  [
    'one slot lacks',
    { kernels: [slots(4, 1)] },
    [node('node-a', { cpu: 4, usedCpu: 2 })],
    'insufficient_capacity',
    'needs 4 CPU; the most room is on node-a with 2 CPU free: 2 more needed',
  ],
  [
    'several lack',
    { kernels: [slots(4, 8, 2)] },
    [node('a', { cpu: 4, usedCpu: 2, gib: 8, gpus: 2, held: 1 })],
    'insufficient_capacity',
    'needs 2 GPU and 4 CPU; the most room is on a with 1 GPU and 2 CPU free: 1 GPU and 2 CPU more needed',
  ],
  [
    'the room is split',
    { kernels: [slots(1, 1, 4)] },
    [node('a', { gpus: 4, held: 1 }), node('b', { gpus: 4, held: 3 })],
    'fragmented',
    'needs 4 GPU; that much is free, but not on one node: the most is on a with 3 GPU free: 1 more needed',
  ],
  [
    'a node that could never hold it is not the nearest',
    { kernels: [slots(1, 1, 4)] },
    [node('a', { gpus: 3 }), node('b', { gpus: 4, held: 3 })],
    'fragmented',
    'needs 4 GPU; that much is free, but not on one node: the most is on b with 1 GPU free: 3 more needed',
  ],
  [
    'a pinned model counts its devices only',
    { gpuModel: 'h200', kernels: [slots(1, 1, 2)] },
    [node('a', { models: ['h200', 'h200', 't4', 't4'], held: 1 })],
    'insufficient_capacity',
    'needs 2 GPU (h200); the most room is on a with 1 GPU free: 1 more needed',
  ],
  [
    '10 + 10 GiB free on two devices is not 20',
    { kernels: [share(20)] },
    [node('a', { gpus: 2, sharing: 'mps', shared: [14, 14] })],
    'fragmented',
    "needs 20 GiB of one GPU's memory; that much is free, but not on one device: the most is on a with 10 GiB of one GPU's memory free: 10 GiB more needed",
  ],
  [
    'a 12.1 GiB share does not join 12 of 24',
    { kernels: [share(12.1)] },
    [node('a', { gpus: 1, sharing: 'mps', shared: [12] })],
    'insufficient_capacity',
    "needs 12.1 GiB of one GPU's memory; the most room is on a with 12 GiB of one GPU's memory free: 102.4 MiB more needed",
  ],
  [
    'shares anywhere, too little in all',
    { kernels: [share(20), share(20)], clusterMode: 'multi-node' },
    [node('a', { gpus: 1, sharing: 'mps' }), node('b', { gpus: 1, sharing: 'mps', shared: [12] })],
    'insufficient_capacity',
    'its 2 kernels together need 40 GiB of GPU memory; all nodes have 36 GiB of GPU memory free: 4 GiB of GPU memory more needed',
  ],
  [
    'kernels anywhere, too little in all',
    { kernels: [slots(1, 1, 2), slots(1, 1, 2)], clusterMode: 'multi-node' },
    [node('a', { gpus: 2 }), node('b', { gpus: 2, held: 1 })],
    'insufficient_capacity',
    'its 2 kernels together need 4 GPU; all nodes have 3 GPU free: 1 more needed',
  ],
  [
    'kernels anywhere, split',
    { kernels: [slots(1, 1, 2), slots(1, 1, 2)], clusterMode: 'multi-node' },
    [node('a', { gpus: 3 }), node('b', { gpus: 2, held: 1 })],
    'fragmented',
    'its 2 kernels together need 4 GPU, 2 CPU and 2 GiB of memory; that much is free in all, but it is split so that no assignment of whole kernels to nodes exists',
  ],
];
test.each(cases)('%s', (_title, asked, nodes, reason, message) => {
  expect(explain(asked, nodes)).toMatchObject({ reason, message });
});

test('a session over many nodes is told the amounts of the group', () => {
  const asked: SessionShape = { kernels: [slots(1, 1, 2), slots(1, 1, 2)], clusterMode: 'multi-node' };
  const { blockers } = explain(asked, [node('a', { gpus: 2 }), node('b', { gpus: 2, held: 1 })]);
  expect(blockers).toEqual([
    { kind: 'capacity', scope: 'group', name: 'default', resource: 'gpuCount', need: 4, used: 1, limit: 4 },
  ]);
});

test('the nearest node is data, for one node and for kernels anywhere', () => {
  const nodes = [node('a', { gpus: 4, held: 2 }), node('b', { gpus: 4, held: 3 })];
  expect(explain({ kernels: [slots(1, 1, 4)] }, nodes).nearest).toEqual({
    node: 'a',
    lacks: [{ slot: 'gpuCount', need: 4, free: 2 }],
  });
  const gang: SessionShape = { kernels: [slots(1, 1, 3), slots(1, 1)], clusterMode: 'multi-node' };
  expect(explain(gang, nodes).nearest).toEqual({ node: 'a', lacks: [{ slot: 'gpuCount', need: 3, free: 2 }] });
});

test('only nodes that are tried are counted: one where it failed before is not while another could hold it', () => {
  const nodes = [node('a', { cpu: 4 }), node('b', { cpu: 4, usedCpu: 3 })];
  expect(explain({ kernels: [slots(2, 1)], avoid: ['a'] }, nodes)).toMatchObject({
    message: 'needs 2 CPU; the most room is on b with 1 CPU free: 1 more needed',
    nodes: { fit: 0, rejected: { failed_here: 1, insufficient_cpu: 1 } },
  });
});

test('a search that gave up says so', () => {
  const asked: SessionShape = { kernels: [slots(1, 1), slots(2, 1)], clusterMode: 'multi-node' };
  expect(explain(asked, [node('a')], true).message).toContain('the search for an assignment ended after 100000 steps');
});
