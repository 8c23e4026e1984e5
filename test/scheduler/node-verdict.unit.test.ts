import { expect, test } from 'vitest';
import { demandOf } from '../../src/scheduler/demand.js';
import { nodeTable } from '../../src/scheduler/node-table.js';
import { nodeVerdict } from '../../src/scheduler/node-verdict.js';
import { NOW, node, type SessionShape, session, share, slots } from './build.js';

const nodes = [
  node('fits', { gpus: 2, model: 'h200' }),
  node('arm', { gpus: 2, model: 'h200', architecture: 'arm64', state: 'LOST' }),
  node('other', { gpus: 2, model: 't4', state: 'CORDONED' }),
  node('cordoned', { gpus: 2, model: 'h200', state: 'CORDONED' }),
  node('lost', { gpus: 2, model: 'h200', state: 'LOST' }),
  node('new', { gpus: 2, model: 'h200', state: 'REGISTERED' }),
  node('busy', { gpus: 2, model: 'h200', held: 1, cpu: 4, usedCpu: 4 }),
  node('cpu', { gpus: 2, model: 'h200', cpu: 4, usedCpu: 4, usedGib: 256 }),
  node('memory', { gpus: 2, model: 'h200', usedGib: 256 }),
];
const asked: SessionShape = { architecture: 'amd64', gpuModel: 'h200', kernels: [slots(1, 1, 2)] };

test('each node counts once, by what cannot change first, then its state, then GPU, CPU, memory', () => {
  expect(nodeVerdict(nodeTable(nodes, 'now'), demandOf(session(1, asked)))).toEqual({
    fit: 1,
    rejected: {
      wrong_architecture: 1,
      wrong_device: 1,
      cordoned: 1,
      lost: 1,
      not_ready: 1,
      insufficient_gpu: 1,
      insufficient_cpu: 1,
      insufficient_memory: 1,
    },
  });
});

test('shares, wishes, moves, failures and kept rooms have their own causes', () => {
  const mps = { gpus: 1, sharing: 'mps' } as const;
  const made = [
    node('a', { gpus: 1 }),
    node('b', { ...mps, shared: [20] }),
    node('c', { ...mps, state: 'DRAINING' }),
    node('d', { ...mps, state: 'DRAINED' }),
    node('e', { ...mps, state: 'UNHEALTHY' }),
    { ...node('f', mps), moveAt: '2026-11-30T12:01:00.000Z' },
    node('g', mps),
    node('h', { ...mps, shared: [20] }),
    node('i', mps),
    node('z', mps),
  ];
  const wishes = { ...session(1).wishes, nodes: [...'abcdefghi'] as never, nodesRequired: true };
  const demand = demandOf(session(1, { kernels: [share(12)], wishes, minRuntimeSeconds: 51 }));
  const now = nodeTable(made, 'now');
  now.atMs = Date.parse(NOW);
  const unkept = nodeTable(
    made.map((each) => (each.name === 'h' ? node('h', mps) : each)),
    'now',
  );
  expect(nodeVerdict(now, demand, { failedOn: new Set(['g']), unkept })).toEqual({
    fit: 1,
    rejected: {
      sharing_not_allowed: 1,
      insufficient_gpu_memory: 1,
      draining: 2,
      unhealthy: 1,
      moves_too_soon: 1,
      failed_here: 1,
      held_for_another: 1,
      not_designated: 1,
    },
  });
});

test('for kernels that may spread a node fits when it takes one of them', () => {
  const spread = session(1, { clusterMode: 'multi-node', kernels: [slots(1, 1), slots(100, 1)] });
  expect(nodeVerdict(nodeTable([node('a')], 'now'), demandOf(spread))).toEqual({ fit: 1, rejected: {} });
});
