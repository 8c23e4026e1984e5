import { describe, expect, test } from 'vitest';
import { groupPolicySchema } from '../../src/contract/index.js';
import { type AdmissionQuestion, decideAdmission } from '../../src/scheduler/decide-admission.js';

const GIB = 2 ** 30;
const node = {
  name: 'n1',
  architecture: 'amd64',
  zone: null,
  state: 'READY' as const,
  capacity: { cpuMilli: 4000, memoryBytes: 16 * GIB },
  used: { cpuMilli: 0, memoryBytes: 0 },
  devices: [],
  images: [],
  folders: [],
  drain: null,
  moveAt: null,
};
const groupOf = (policy: object, waiting = 0) => ({
  name: 'default',
  mayUse: true,
  policy: groupPolicySchema.parse(policy),
  waiting,
});
const wants = { kind: 'batch' as const, minRuntimeSeconds: 0, requiredNodes: [] };
const question: AdmissionQuestion = {
  request: {
    architecture: null,
    gpuModel: null,
    clusterMode: 'single-node',
    kernels: [{ slots: { cpuMilli: 1000, memoryBytes: GIB, gpuCount: 0, gpuMemoryBytes: 0 } }],
  },
  name: null,
  asked: { group: 'default', project: null },
  project: { name: 'p' },
  isMember: true,
  group: groupOf({}),
  dependencies: [],
  wants,
  nodes: [node],
  quotas: [],
  pending: [],
  nameTakenBy: null,
  folders: [],
};

interface Case {
  readonly title: string;
  readonly change: Partial<AdmissionQuestion>;
  readonly want: readonly [code: string, pointer: string, message: string] | null;
}
const device = {
  id: 'd0',
  model: 'sim',
  memoryBytes: 24 * GIB,
  simulated: true,
  healthy: true,
  sharing: 'none' as const,
  parentId: null,
  heldBy: null,
  shares: [],
};
const NO_SHARES =
  'asks for a share of a device (gpuMemoryBytes); this group offers whole devices (gpuCount): none of its devices limits what a share uses, and the group does not allow unenforced sharing';
const shared = { ...node, devices: [device] };
const wishes = {
  nodes: [],
  nodesRequired: false,
  zone: null,
  zoneRequired: false,
  spread: 'none' as const,
  replicaGroup: null,
};
const aShare = {
  nodes: [shared],
  request: {
    ...question.request,
    kernels: [{ slots: { cpuMilli: 1000, memoryBytes: GIB, gpuCount: 0, gpuMemoryBytes: 10 * GIB } }],
  },
};
const limited = groupOf({ maxRuntimeSeconds: { batch: 3600 } });
const cases: readonly Case[] = [
  { title: 'a request that fits', change: {}, want: null },
  {
    title: 'a dependency that it cannot see',
    change: {
      dependencies: [
        { asked: 'a', found: {} },
        { asked: 'b', found: null },
      ],
    },
    want: ['invalid_request', '/dependsOn/1/session', 'you can see no session b'],
  },
  {
    title: 'a required node that the group does not have',
    change: { wants: { ...wants, requiredNodes: ['n1', 'n7'] } },
    want: ['invalid_request', '/placement/nodes/1', 'the group has no node n7'],
  },
  { title: 'a required node that it has', change: { wants: { ...wants, requiredNodes: ['n1'] } }, want: null },
  {
    title: 'a maximum runtime above the group’s',
    change: { group: limited, wants: { ...wants, maxRuntimeSeconds: 3601 } },
    want: [
      'invalid_request',
      '/maxRuntimeSeconds',
      'asks for 3601 s; the group lets batch sessions run for at most 3600 s',
    ],
  },
  { title: 'no maximum runtime: it gets the group’s', change: { group: limited }, want: null },
  {
    title: 'a minimum runtime above the group’s maximum',
    change: { group: limited, wants: { ...wants, minRuntimeSeconds: 7200 } },
    want: [
      'invalid_request',
      '/minRuntimeSeconds',
      'asks for 7200 s; the group lets batch sessions run for at most 3600 s',
    ],
  },
  {
    title: 'another kind than the one with a limit',
    change: { group: limited, wants: { ...wants, kind: 'interactive', maxRuntimeSeconds: 9999 } },
    want: null,
  },
  {
    title: 'one more who waits than the group takes',
    change: { group: groupOf({ maxPendingSessions: 2 }, 2) },
    want: ['quota_exceeded', '/group', '2 sessions wait in the group already, of at most 2'],
  },
  {
    title: 'a share on devices whose limit nothing enforces, where the group allows that',
    change: { ...aShare, group: groupOf({ allowUnenforcedSharing: true }) },
    want: null,
  },
  {
    title: 'a share on devices whose limit nothing enforces, where the group does not',
    change: aShare,
    want: ['never_fits', '/kernels', NO_SHARES],
  },
  {
    title: 'required nodes of which none is large enough',
    change: {
      nodes: [node, { ...shared, name: 'n2' }],
      request: { ...aShare.request, wishes: { ...wishes, nodes: ['n1'], nodesRequired: true } },
      group: groupOf({ allowUnenforcedSharing: true }),
    },
    want: ['never_fits', '/kernels', NO_SHARES],
  },
  { title: 'the last who may wait', change: { group: groupOf({ maxPendingSessions: 2 }, 1) }, want: null },
];

describe('admission of', () => {
  test.each(cases)('$title', ({ change, want }) => {
    const refusal = decideAdmission({ ...question, ...change });
    const told = refusal === null ? null : [refusal.code, refusal.errors?.[0]?.pointer, refusal.errors?.[0]?.message];
    expect(told).toEqual(want);
  });
  test('tells every ground, whichever kind names the problem', () => {
    const refusal = decideAdmission({
      ...question,
      group: groupOf({ maxPendingSessions: 0, maxRuntimeSeconds: { batch: 60 } }),
      dependencies: [{ asked: 'b', found: null }],
      wants: { ...wants, maxRuntimeSeconds: 61, requiredNodes: ['n9'] },
    });
    expect(refusal?.code).toBe('invalid_request');
    expect(refusal?.errors?.map(({ pointer }) => pointer)).toEqual([
      '/dependsOn/0/session',
      '/placement/nodes/0',
      '/maxRuntimeSeconds',
      '/group',
    ]);
  });
});
