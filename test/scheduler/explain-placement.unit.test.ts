import { expect, test } from 'vitest';
import type { SnapshotNode } from '../../src/contract/snapshot.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { NOW, node, session, slots, snapshot } from './build.js';

const cases: [title: string, placement: 'dispersed' | 'concentrated', nodes: SnapshotNode[], want: string][] = [
  ['the only one', 'dispersed', [node('a', { cpu: 4 })], 'a: the only node with room'],
  [
    'most left',
    'dispersed',
    [node('a', { cpu: 4 }), node('b', { cpu: 8 })],
    'b: dispersed, the most left (8 CPU, 256 GiB of memory) of the nodes with room, before a; ties by name',
  ],
  [
    'least left',
    'concentrated',
    [node('a', { cpu: 4 }), node('b', { cpu: 8 })],
    'a: concentrated, the least left (4 CPU, 256 GiB of memory) of the nodes with room, before b; ties by name',
  ],
  [
    'nothing unused',
    'dispersed',
    [node('a', { cpu: 4, gpus: 1 }), node('b', { cpu: 2 })],
    'b: the nodes with room that have least beyond what it uses come first, a after',
  ],
];
test.each(cases)('%s', (_title, placement, nodes, want) => {
  const pending = [session(1, { kernels: [slots(1, 1)] })];
  expect(planPass(snapshot({ nodes, pending, policy: { placement } }), NOW).placed[0]?.explanation).toBe(want);
});
