import { describe, expect, test } from 'vitest';
import type { Reason } from '../../src/contract/why.js';
import { considerPage, finishPass, planPass, startPass } from '../../src/scheduler/plan-pass.js';
import { NOW, node, quota, type SnapshotShape, session, sessionId, slots, snapshot } from './build.js';

const plan = (shape: SnapshotShape) => planPass(snapshot(shape), NOW);
const gpus = (n: number, count: number) => session(n, { kernels: [slots(1, 1, count)] });
const placedOn = (shape: SnapshotShape) => plan(shape).placed.map(({ kernels }) => kernels[0]?.node);

describe('placement, the three cases of the rules', () => {
  const small = node('small', { cpu: 4 });
  const large = node('large', { cpu: 64, usedCpu: 32 });
  test('(a) dispersed takes the node with more left, not the one with the larger share left', () => {
    expect(placedOn({ nodes: [small, large], pending: [session(1)] })).toEqual(['large']);
  });
  const two = [node('a', { gpus: 4 }), node('b', { gpus: 4 })];
  const queue = (...counts: number[]) => counts.map((count, n) => gpus(n + 1, count));
  test.each([
    ['(b) 1, 3, 4 dispersed strands the 4', two, 'dispersed', [1, 3, 4], ['a', 'b']],
    ['(b) … whatever the order of the nodes', two.toReversed(), 'dispersed', [1, 3, 4], ['a', 'b']],
    ['(b) 1, 3, 4 concentrated places all', two, 'concentrated', [1, 3, 4], ['a', 'a', 'b']],
    ['(c) 4, 1, 3 dispersed places all', two, 'dispersed', [4, 1, 3], ['a', 'b', 'b']],
    ['(c) 4, 1, 3 concentrated places all', two, 'concentrated', [4, 1, 3], ['a', 'b', 'b']],
  ] as const)('%s', (_title, nodes, placement, counts, want) => {
    expect(placedOn({ nodes, pending: queue(...counts), policy: { placement } })).toEqual(want);
  });
  test('(b) the stranded one is told that the room is split', () => {
    const { waiting } = plan({ nodes: two, pending: queue(1, 3, 4) });
    expect(waiting).toMatchObject([{ sessionId: sessionId(3), reason: 'fragmented' }]);
  });
});

test('experiment 1: Alice waits for 2 more CPU, Bob is skipped behind her', () => {
  const nodes = [node('node-a', { cpu: 4, usedCpu: 2 })];
  const made = plan({ nodes, pending: [session(1, { kernels: [slots(4, 1)] }), session(2)] });
  expect(made).toMatchObject({ placed: [], blockedBy: sessionId(1), skipped: 1 });
  expect(made.waiting).toHaveLength(1);
  expect(made.waiting[0]).toMatchObject({
    reason: 'insufficient_capacity',
    message: 'needs 4 CPU; the most room is on node-a with 2 CPU free: 2 more needed',
    blockers: [
      { kind: 'capacity', scope: 'node', name: 'node-a', resource: 'cpuMilli', need: 4000, used: 2000, limit: 4000 },
    ],
    nodes: { fit: 0, rejected: { insufficient_cpu: 1 } },
  });
});

describe('the walk-through of Bob and Alice: group of 4 GPUs, project quota of 2', () => {
  const project = (held: number) => [quota('project', { gpuCount: 2 }, { gpuCount: held })];
  const bob = session(2, { kernels: [slots(1, 1, 1)], userId: 'usr_bob', projectId: 'prj_speech' });
  test('held 1 and all GPUs busy: she waits for capacity, and he is skipped', () => {
    const made = plan({ nodes: [node('a', { gpus: 4, held: 4 })], quotas: project(1), pending: [gpus(1, 1), bob] });
    expect(made).toMatchObject({ blockedBy: sessionId(1), skipped: 1, waiting: [{ reason: 'insufficient_capacity' }] });
  });
  test('held 2 + 1 > 2: she waits for quota, and he starts', () => {
    const made = plan({ nodes: [node('a', { gpus: 4, held: 2 })], quotas: project(2), pending: [gpus(1, 1), bob] });
    expect(made).toMatchObject({ blockedBy: null, placed: [{ sessionId: bob.id }] });
    expect(made.waiting).toMatchObject([
      { reason: 'project_quota', message: 'quota of project vision: GPU held 2 + 1 > 2, over by 1 GPU' },
    ]);
  });
});

describe('what is told first, and what stops the pass', () => {
  const full = node('a', { gpus: 4, held: 4 });
  const user = quota('user', { cpuMilli: 500 });
  const one: [
    title: string,
    shape: Omit<SnapshotShape, 'pending'>,
    asked: ReturnType<typeof session>,
    reason: Reason,
  ][] = [
    [
      'a share of a device',
      { nodes: [full] },
      session(1, { kernels: [{ ...slots(1, 1), gpuMemoryBytes: 1 }] }),
      'misconfigured',
    ],
    [
      '… which without any node may yet come',
      { nodes: [] },
      session(1, { kernels: [{ ...slots(1, 1), gpuMemoryBytes: 1 }] }),
      'no_schedulable_node',
    ],
    [
      'a model that no node has',
      { nodes: [full] },
      session(1, { gpuModel: 'h200', kernels: [slots(1, 1, 1)] }),
      'no_matching_device',
    ],
    [
      'an architecture that no node has',
      { nodes: [full] },
      session(1, { architecture: 'arm64' }),
      'no_matching_device',
    ],
    ['more than any node has', { nodes: [full] }, gpus(1, 5), 'too_large_for_any_node'],
    ['… before a pause', { nodes: [full], policy: { paused: true } }, gpus(1, 5), 'too_large_for_any_node'],
    ['… before a quota', { nodes: [full], quotas: [user] }, gpus(1, 5), 'too_large_for_any_node'],
    ['a pause before a quota', { nodes: [full], quotas: [user], policy: { paused: true } }, gpus(1, 1), 'queue_paused'],
    ['a quota before a missing node', { nodes: [], quotas: [user] }, gpus(1, 1), 'user_quota'],
    ['a group without nodes', { nodes: [] }, gpus(1, 1), 'no_schedulable_node'],
    ['no READY node', { nodes: [node('a', { state: 'CORDONED' })] }, session(1), 'no_schedulable_node'],
    [
      'only a cordoned node is large enough',
      { nodes: [node('a', { cpu: 1 }), node('b', { state: 'CORDONED' })] },
      session(1, { kernels: [slots(2, 1)] }),
      'no_schedulable_node',
    ],
    [
      'a broken device is the one that lacks',
      { nodes: [node('a', { gpus: 4, broken: 1 })] },
      gpus(1, 4),
      'no_schedulable_node',
    ],
  ];
  test.each(one)('%s stops only that session', (_title, shape, asked, reason) => {
    const made = plan({ ...shape, pending: [asked, session(2, { kernels: [slots(0.1, 1)] })] });
    expect(made.waiting[0]).toMatchObject({ sessionId: asked.id, reason });
    expect(made).toMatchObject({ blockedBy: null, skipped: 0 });
    expect(made.placed.length + made.waiting.length).toBe(2);
  });
});

test('what is placed is held: in quotas, amounts and devices of the same pass', () => {
  const made = plan({
    nodes: [node('a', { gpus: 4 })],
    quotas: [quota('user', { gpuCount: 3 })],
    pending: [gpus(1, 2), gpus(2, 2), gpus(3, 1)],
  });
  expect(made.placed.map(({ kernels }) => kernels[0]?.deviceIds)).toEqual([['a-0', 'a-1'], ['a-2']]);
  expect(made.waiting).toMatchObject([
    { sessionId: sessionId(2), violations: [{ held: 2, requested: 2, limit: 3, overBy: 1 }] },
  ]);
});

test('kernels of a single-node session lie together, each with its own devices', () => {
  const asked = session(1, { kernels: [slots(1, 1, 1), slots(1, 1, 2)] });
  const [placed] = plan({ nodes: [node('a', { gpus: 2 }), node('b', { gpus: 3 })], pending: [asked] }).placed;
  expect(placed?.kernels.map(({ node: name, deviceIds }) => [name, deviceIds])).toEqual([
    ['b', ['b-0']],
    ['b', ['b-1', 'b-2']],
  ]);
  expect(placed?.explanation).toBe('b: the only node with room for all 2 kernels together');
});

test('a page after the block is counted as skipped and not considered', () => {
  const { pending, ...base } = snapshot({
    nodes: [node('a', { gpus: 1 })],
    pending: [gpus(1, 1), gpus(2, 1), gpus(3, 1)],
  });
  const pass = startPass(base, NOW);
  expect(considerPage(pass, pending.slice(0, 1))).toBe(true);
  expect(considerPage(pass, pending.slice(1, 2))).toBe(false);
  expect(considerPage(pass, pending.slice(2))).toBe(false);
  expect(finishPass(pass)).toMatchObject({
    blockedBy: sessionId(2),
    skipped: 1,
    generation: 7,
    now: NOW,
    nextWakeAt: null,
  });
});
