import { expect, test } from 'vitest';
import type { SnapshotNode } from '../../src/contract/snapshot.js';
import { neverFits } from '../../src/scheduler/fits-ever.js';
import { node, type SessionShape, session, share, slots } from './build.js';

const cases: [title: string, asked: SessionShape, nodes: SnapshotNode[], want: [reason: string, message: string][]][] =
  [
    [
      'what a busy node could hold waits',
      { kernels: [slots(4, 1, 2)] },
      [node('a', { cpu: 4, usedCpu: 4, gpus: 2, held: 2 })],
      [],
    ],
    [
      'a lost, a cordoned and a broken node count with all they have',
      { kernels: [slots(1, 1, 2)] },
      [node('a', { gpus: 2, broken: 2, state: 'LOST' })],
      [],
    ],
    [
      'a group in which nobody has reported refuses nothing',
      { kernels: [slots(999, 1, 99)] },
      [node('a', { cpu: 0, gib: 0, state: 'REGISTERED' })],
      [],
    ],
    ['an empty group refuses nothing', { architecture: 'arm64' }, [], []],
    [
      'the nearest node and what lacks',
      { kernels: [slots(8, 1, 6)] },
      [node('a', { gpus: 2 }), node('b', { gpus: 4 })],
      [
        [
          'too_large_for_any_node',
          'needs 6 GPU; no node is that large, the nearest is b with 4 GPU in all: 2 more needed',
        ],
      ],
    ],
    [
      'every reason: architecture, model and size',
      { architecture: 'arm64', gpuModel: 'h200', kernels: [slots(100, 1, 1)] },
      [node('a', { gpus: 1, model: 't4' })],
      [
        ['no_matching_device', 'needs arm64; the nodes are amd64; needs a h200; the nodes have t4'],
        [
          'too_large_for_any_node',
          'needs 100 CPU; no node is that large, the nearest is a with 64 CPU in all: 36 more needed',
        ],
      ],
    ],
    [
      'architecture and model on different nodes',
      { architecture: 'arm64', gpuModel: 't4', kernels: [slots(1, 1, 1)] },
      [node('a', { gpus: 1, model: 't4' }), node('b', { gpus: 1, model: 'h200', architecture: 'arm64' })],
      [['no_matching_device', 'needs a t4 on arm64; no node has both']],
    ],
    [
      'no device at all',
      { gpuModel: 't4', kernels: [slots(1, 1, 1)] },
      [node('a')],
      [
        ['no_matching_device', 'needs a t4; no node has a device'],
        [
          'too_large_for_any_node',
          'needs 1 GPU; no node is that large, the nearest is a with 0 GPU in all: 1 more needed',
        ],
      ],
    ],
    [
      'kernels on one node are summed',
      { kernels: [slots(40, 1), slots(40, 1)] },
      [node('a'), node('b')],
      [
        [
          'too_large_for_any_node',
          'its 2 kernels on one node need 80 CPU; no node is that large, the nearest is a with 64 CPU in all: 16 more needed',
        ],
      ],
    ],
    [
      'kernels anywhere are not',
      { kernels: [slots(40, 1), slots(40, 1)], clusterMode: 'multi-node' },
      [node('a'), node('b')],
      [],
    ],
    [
      'one kernel that no node holds',
      { kernels: [slots(1, 1), slots(80, 1)], clusterMode: 'multi-node' },
      [node('a'), node('b')],
      [
        [
          'too_large_for_any_node',
          'one of its kernels needs 80 CPU; no node is that large, the nearest is a with 64 CPU in all: 16 more needed',
        ],
      ],
    ],
    [
      'kernels that the nodes do not hold together',
      { kernels: [slots(40, 1), slots(40, 1), slots(40, 1)], clusterMode: 'multi-node' },
      [node('a'), node('b')],
      [
        [
          'too_large_for_any_node',
          'its 3 kernels together need more than all nodes of the group hold, even when empty',
        ],
      ],
    ],
    ['a share where no node has reported', { kernels: [share(1)] }, [], []],
    [
      'a share where all devices are whole',
      { kernels: [share(1)] },
      [node('a', { gpus: 1 })],
      [
        [
          'misconfigured',
          'asks for a share of a device (gpuMemoryBytes); this group offers whole devices (gpuCount): none of its devices limits what a share uses, and the group does not allow unenforced sharing',
        ],
      ],
    ],
    ['a share on a device that is shared', { kernels: [share(24)] }, [node('a', { gpus: 1, sharing: 'mps' })], []],
    [
      'a share above the largest device names it',
      { kernels: [share(24.5)] },
      [node('a', { gpus: 2, sharing: 'mps' }), node('b', { gpus: 1, model: 'h200' })],
      [
        [
          'too_large_for_any_node',
          "needs 24.5 GiB of one GPU's memory; no node is that large, the nearest is a with 24 GiB of one GPU's memory in all: 512 MiB more needed; the largest device that takes shares is a-0 of node a (sim-24g, 24 GiB)",
        ],
      ],
    ],
    [
      'shares of kernels on one node: 13 + 13 + 13 on two devices of 24',
      { kernels: [share(13), share(13), share(13)] },
      [node('a', { gpus: 2, sharing: 'mps' })],
      [
        [
          'too_large_for_any_node',
          "its 3 kernels on one node need 13 GiB of one GPU's memory; no node is that large, the nearest is a with 11 GiB of one GPU's memory in all: 2 GiB more needed; the largest device that takes shares is a-0 of node a (sim-24g, 24 GiB)",
        ],
      ],
    ],
    [
      'a share of a model that takes none',
      { gpuModel: 'h200', kernels: [share(1)] },
      [node('a', { gpus: 1, sharing: 'mps' }), node('b', { gpus: 1, model: 'h200' })],
      [['no_matching_device', 'needs a share of a h200; none of them takes shares here']],
    ],
    [
      'a share and whole devices at once',
      { kernels: [{ ...share(1), gpuCount: 1 }] },
      [node('a', { gpus: 1, sharing: 'mps' })],
      [['misconfigured', 'a kernel asks for whole devices (gpuCount) and for a share of one (gpuMemoryBytes) at once']],
    ],
    [
      'more than the required node has',
      { kernels: [slots(1, 1, 2)], wishes: { ...session(1).wishes, nodes: ['a'], nodesRequired: true } },
      [node('a', { gpus: 1 }), node('b', { gpus: 2 })],
      [
        [
          'too_large_for_any_node',
          'needs 2 GPU; no node is that large, the nearest is a with 1 GPU in all: 1 more needed',
        ],
      ],
    ],
    [
      'a required node that is not there may come',
      { kernels: [slots(1, 1, 2)], wishes: { ...session(1).wishes, nodes: ['c'], nodesRequired: true } },
      [node('a', { gpus: 1 }), node('b', { gpus: 2 })],
      [],
    ],
  ];
test.each(cases)('%s', (_title, asked, nodes, want) => {
  const found = neverFits(session(1, asked), nodes);
  expect(found?.map(({ reason, message }) => [reason, message]) ?? []).toEqual(want);
  if (want.length === 0) expect(found).toBeNull();
});

test('the blocker is data: the node, what is needed and what it has', () => {
  const [refusal] = neverFits(session(1, { kernels: [slots(1, 1, 6)] }), [node('a', { gpus: 4 })]) ?? [];
  expect(refusal?.blockers).toEqual([
    { kind: 'capacity', scope: 'node', name: 'a', resource: 'gpuCount', need: 6, used: 0, limit: 4 },
  ]);
  expect(refusal?.nodes).toEqual({ fit: 0, rejected: { insufficient_gpu: 1 } });
});
