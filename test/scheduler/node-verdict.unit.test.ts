import { expect, test } from 'vitest';
import { demandOf } from '../../src/scheduler/demand.js';
import { nodeTable } from '../../src/scheduler/node-table.js';
import { nodeVerdict } from '../../src/scheduler/node-verdict.js';
import { node, type SessionShape, session, slots } from './build.js';

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

test('for kernels that may spread a node fits when it takes one of them', () => {
  const spread = session(1, { clusterMode: 'multi-node', kernels: [slots(1, 1), slots(100, 1)] });
  expect(nodeVerdict(nodeTable([node('a')], 'now'), demandOf(spread))).toEqual({ fit: 1, rejected: {} });
});
