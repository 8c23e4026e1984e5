import { describe, expect, test } from 'vitest';
import { queueShown } from '../../src/cli/columns.js';
import { drainText } from '../../src/cli/drain-text.js';
import { dryRunText } from '../../src/cli/dry-run-text.js';
import { againText, isRequeue } from '../../src/cli/follow.js';
import { nodeText } from '../../src/cli/node-text.js';
import { queueNotes } from '../../src/cli/queue-notes.js';
import { sessionText } from '../../src/cli/session-text.js';
import { renderTable } from '../../src/cli/table.js';
import { whyText } from '../../src/cli/why-text.js';
import type { DrainPlan, Node, QueueEntry, Session, SessionEvent, Why } from '../../src/contract/index.js';
import type { DryRun } from '../../src/sdk/index.js';

const NOW = new Date('2026-11-30T12:00:00.000Z');
const GIB = 2 ** 30;

describe('a drain', () => {
  const stop = { user: 'ada', project: 'vision', gpuCount: 1, then: 'requeue', breaksMinRuntime: false };
  const plan = {
    node: 'n1',
    emptyAt: '2026-11-30T12:30:10.000Z',
    stops: [
      {
        ...stop,
        sessionId: 'ses_1',
        name: 'a',
        stopAt: NOW.toISOString(),
        goneBy: '2026-11-30T12:00:10.000Z',
        because: 'none',
      },
      {
        ...stop,
        sessionId: 'ses_2',
        name: 'b',
        stopAt: '2026-11-30T12:30:00.000Z',
        goneBy: '2026-11-30T12:30:10.000Z',
        because: 'its minimum runtime',
      },
    ],
  } as unknown as DrainPlan;
  test('says when the node is empty, and who stops when, in order', () => {
    const text = drainText(plan, NOW, true);
    expect(text).toMatch(/^node n1 would drain: empty by 2026-11-30T12:30:10.000Z \(in 30m\)\n/);
    expect(text).toMatch(/ {2}a +ada +vision +1 +now +12:00:10Z +back to the queue +none/);
    expect(text).toMatch(/ {2}b +ada +vision +1 +in 30m +12:30:10Z +back to the queue +its minimum runtime/);
  });
  test('says how many the deadline stops too early', () => {
    const broken = { ...plan, stops: plan.stops.map((line) => ({ ...line, breaksMinRuntime: true })) };
    expect(drainText(broken, NOW)).toMatch(/the deadline stops 2 within their minimum runtime$/);
  });
  test('of an empty node says so', () => {
    expect(drainText({ node: 'n1', emptyAt: null, stops: [] }, NOW)).toBe('node n1 drains: it holds nothing');
  });
});

describe('a node', () => {
  const device = { index: 0, model: 'sim', memoryBytes: 24 * GIB, simulated: true, healthy: true, parentId: null };
  const node = {
    name: 'n1',
    group: 'default',
    state: 'DRAINING',
    stateReason: 'new driver',
    architecture: 'amd64',
    zone: null,
    capacity: { cpuMilli: 4000, memoryBytes: 16 * GIB },
    used: { cpuMilli: 500, memoryBytes: GIB },
    devices: [
      {
        ...device,
        id: 'd0',
        sharing: 'mps',
        heldBy: null,
        shares: [{ sessionId: 'ses_1', kernelId: 'krn_1', memoryBytes: 10 * GIB }],
      },
      { ...device, id: 'd1', sharing: 'mps', heldBy: { sessionId: 'ses_2', kernelId: 'krn_2' }, shares: [] },
      { ...device, id: 'd2', sharing: 'mps', healthy: false, heldBy: null, shares: [] },
    ],
    images: ['busybox:1', 'sha256:0123'],
    drain: {
      since: '2026-11-30T11:00:00.000Z',
      reason: 'new driver',
      actor: 'ada',
      deadline: null,
      emptyAt: '2026-11-30T12:10:00.000Z',
      remaining: 2,
    },
    move: { toGroup: 'night', at: '2026-11-30T18:00:00.000Z', repeat: 'daily' },
    simulated: true,
  } as unknown as Node;
  const text = nodeText(node, NOW);
  test('tells its state and why, its drain and its next move', () => {
    expect(text).toMatch(/^node n1: DRAINING \(new driver\)\n/);
    expect(text).toMatch(/2 sessions left, empty by 2026-11-30T12:10:00.000Z \(in 10m\)/);
    expect(text).toMatch(/moves to night by 2026-11-30T18:00:00.000Z \(in 6h\), daily/);
  });
  test('tells who has each device, whole or in part, and which is broken', () => {
    expect(text).toMatch(/devices \(simulated\):/);
    expect(text).toMatch(/d0 {2}sim 24Gi {2}mps {2}shared: ses_1 10Gi \(14Gi free\)/);
    expect(text).toMatch(/d1 .* whole: ses_2/);
    expect(text).toMatch(/d2 .* BROKEN {2}free/);
  });
  test('names images, not digests', () => expect(text).toMatch(/images: busybox:1$/));
});

test('a dry run tells the outcome, the place, when it starts and why, who is stopped, and the quota after it', () => {
  const answer: DryRun = {
    outcome: 'waits',
    kernels: [],
    reason: 'insufficient_capacity',
    message: 'needs 2 GPU',
    quotaAfter: [{ scope: 'user', name: 'ada', slot: 'gpuCount', held: 3, limit: 4 }],
    estimatedStart: '2026-11-30T12:12:00.000Z',
    estimateBasis: 'a ends by 12:12, maximum runtime',
    position: 2,
    wouldStop: ['ses_1' as Session['id']],
    contract: { allocated: false, message: 'no minimum runtime: free' },
  };
  expect(dryRunText(answer, NOW)).toBe(
    [
      'waits · insufficient_capacity: needs 2 GPU',
      '  place in the queue: 2',
      '  starts by 2026-11-30T12:12:00.000Z, in 12m (a ends by 12:12, maximum runtime)',
      '  would stop 1: ses_1',
      '  no minimum runtime: free',
      '  quota of user ada: 3 of 4 GPU after it',
    ].join('\n'),
  );
});

test('why tells rejected nodes by cause, the nearest fit, the start with its basis, what helps, and what was before', () => {
  const why = {
    state: 'PENDING',
    class: 'wait',
    reason: 'insufficient_capacity',
    since: '2026-11-30T11:59:00.000Z',
    message: 'needs 2 GPU',
    blockers: [],
    queue: { name: 'default', position: 2, gpusAhead: 4 },
    nodes: { fit: 0, rejected: { draining: 1, insufficient_gpu: 12 } },
    nearest: { node: 'n1', lacks: [{ slot: 'gpuCount', need: 2, free: 1 }] },
    reservedNodes: ['n1'],
    eta: { p50: '2026-11-30T12:12:00.000Z', p90: '2026-11-30T12:12:00.000Z', basis: 'a ends by then' },
    etaUnknownBecause: null,
    actions: [{ title: 'See the queue', command: 'berth queue default' }],
    history: [
      { at: '2026-11-30T11:50:00.000Z', reason: 'user_quota' },
      { at: '2026-11-30T11:59:00.000Z', reason: 'insufficient_capacity' },
    ],
  } as unknown as Why;
  expect(whyText(why, NOW)).toBe(
    [
      'PENDING for 1m: insufficient_capacity',
      '  needs 2 GPU',
      '  queue default: place 2, 4 GPUs asked for ahead',
      '  nodes: 0 would take it, 12 insufficient_gpu, 1 draining',
      '  nearest fit: n1: needs 2 GPU, 1 free',
      '  starts by 2026-11-30T12:12:00.000Z (in 12m), on n1, reserved for it: a ends by then',
      '  try: See the queue: berth queue default',
      '  before:',
      '    1m ago  insufficient_capacity',
      '    10m ago  user_quota',
    ].join('\n'),
  );
});

describe('a queue', () => {
  const entry = {
    user: 'ada',
    project: 'vision',
    priority: 10,
    slots: { cpuMilli: 1000, memoryBytes: 0, gpuCount: 1, gpuMemoryBytes: 0 },
    submittedAt: '2026-11-30T11:00:00.000Z',
    message: '',
    gpusAhead: 0,
    reservedNodes: [],
  };
  const items = [
    {
      ...entry,
      position: 1,
      sessionId: 'ses_1',
      name: 'alice',
      reason: 'insufficient_capacity',
      blockedBy: null,
      expectedStart: { at: '2026-11-30T12:30:00.000Z', basis: 'x ends by then' },
      reservedNodes: ['n1', 'n2'],
    },
    {
      ...entry,
      position: 2,
      sessionId: 'ses_2',
      name: 'bob',
      reason: 'behind_in_queue',
      blockedBy: 'ses_1',
      expectedStart: null,
    },
  ] as unknown as readonly QueueEntry[];
  test('tells each one’s place, what it waits for, behind whom, and when it starts', () => {
    const [, alice, bob] = renderTable(items, queueShown(items).columns, { isWide: false, now: NOW }).split('\n');
    expect(alice).toMatch(/^alice +1 .* insufficient_capacity +- +in 30m$/);
    expect(bob).toMatch(/^bob +2 .* behind_in_queue +alice +-$/);
  });
  test('tells what is reserved for whom, from when on, on what basis', () => {
    expect(queueNotes(items, NOW)).toEqual([
      'reserved for alice: n1, n2 from 2026-11-30T12:30:00.000Z (in 30m) on: x ends by then',
    ]);
  });
});

describe('a session', () => {
  const session = {
    id: 'ses_1',
    name: 'train',
    kind: 'batch',
    state: 'PENDING',
    reason: 'backoff',
    message: 'node n1 failed',
    result: 'none',
    cause: null,
    user: 'ada',
    project: 'vision',
    group: 'default',
    image: 'busybox:1',
    command: ['true'],
    slots: { cpuMilli: 1000, memoryBytes: GIB, gpuCount: 0, gpuMemoryBytes: 12 * GIB },
    attempt: 1,
    maxAttempts: 3,
    retryAt: '2026-11-30T12:00:05.000Z',
    submittedAt: '2026-11-30T11:00:00.000Z',
    startedAt: null,
    endedAt: null,
    startsAt: null,
    expectedStart: null,
    maxRuntimeSeconds: 3600,
    priority: 10,
    basePriority: 20,
    preemptible: true,
    resumable: false,
    protectedUntil: null,
    budget: null,
    contract: null,
    dependsOn: [{ sessionId: 'ses_0', name: 'prepare', state: 'succeeded', onFailure: 'cancel' }],
    kernels: [
      {
        role: 'main',
        node: 'n1',
        slots: { cpuMilli: 1000, memoryBytes: GIB, gpuCount: 0, gpuMemoryBytes: 12 * GIB },
        exitCode: null,
        exitReason: null,
        devices: [
          {
            id: 'd0',
            model: 'sim',
            simulated: true,
            share: { memoryBytes: 12 * GIB, limitBytes: 12 * GIB, sharing: 'none' },
            guarantees: { memory: 'not-enforced', compute: 'in-turns', faults: 'isolated' },
          },
        ],
      },
    ],
    mounts: [],
    ports: [],
  } as unknown as Session;
  const text = sessionText(session, NOW);
  test('tells its attempts, and when it is tried again', () => {
    expect(text).toMatch(/^train \(ses_1\): PENDING · backoff · node n1 failed\n/);
    expect(text).toMatch(/attempt 1, .*tried again in 5s/);
  });
  test('tells the priority that it was submitted with, and what it waits for', () => {
    expect(text).toMatch(/priority 10 \(submitted with 20\), may be stopped for others/);
    expect(text).toMatch(/after prepare \(succeeded\); if that fails: cancel/);
  });
  test('tells until when it is protected, as long as it is', () => {
    const until = (protectedUntil: string) => sessionText({ ...session, protectedUntil }, NOW);
    expect(until('2026-11-30T12:00:05.000Z')).toMatch(
      /stopped for others, not before 2026-11-30T12:00:05.000Z \(in 5s\)/,
    );
    expect(until('2026-11-30T11:59:59.000Z')).not.toMatch(/not before/);
  });
  test('tells whether it is allocated, and under which budget', () => {
    const contract = (allocated: boolean) => ({ allocated, message: 'as promised' });
    expect(sessionText({ ...session, budget: 'a', contract: contract(true) }, NOW)).toMatch(
      /\n {2}allocated: as promised/,
    );
    expect(sessionText({ ...session, budget: 'a', contract: contract(false) }, NOW)).toMatch(
      /\n {2}unallocated \(budget a\): as promised/,
    );
    expect(text).not.toMatch(/allocated/);
  });
  test('tells what its share promises, and what not', () => {
    expect(text).toMatch(/share of 12Gi, by none: memory limit NOT enforced, compute in turns, faults isolated/);
  });
});

describe('a session that waits again is followed on', () => {
  const event = (of: Partial<SessionEvent>): SessionEvent =>
    ({ kind: 'state', attempt: 1, to: 'PENDING', ...of }) as SessionEvent;
  test('when it was stopped for others: that counts as requeued', () => {
    const requeued = event({ from: 'PREEMPTING', cause: 'preempted' });
    expect(isRequeue(requeued)).toBe(true);
    expect(againText(requeued)).toMatch(/attempt 1 was stopped \(preempted\)/);
  });
  test('when the platform failed: that does not', () => {
    const retried = event({ from: 'TERMINATING', cause: 'node-lost' });
    expect(isRequeue(retried)).toBe(false);
    expect(againText(retried)).toMatch(/attempt 1 failed \(node-lost\)/);
  });
  test('its admission is no requeue', () => expect(isRequeue(event({ from: null, cause: 'submitted' }))).toBe(false));
});
