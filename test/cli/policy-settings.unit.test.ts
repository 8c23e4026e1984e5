import { describe, expect, test } from 'vitest';
import { groupText } from '../../src/cli/group-text.js';
import { type PolicyPatch, policyPatch } from '../../src/cli/policy-settings.js';
import { groupPolicySchema, patchGroupPolicySchema } from '../../src/contract/index.js';

const rows: readonly (readonly [pair: string, PolicyPatch])[] = [
  ['backfill=easy', { backfill: 'easy' }],
  ['placement=best-fit-devices', { placement: 'best-fit-devices' }],
  ['slotOrder=cpu,gpu.mem', { slotOrder: ['cpuMilli', 'gpuMemoryBytes'] }],
  ['decay.by=time', { decay: { by: 'time' } }],
  ['decay.afterTime=10m', { decay: { afterSeconds: 600 } }],
  ['preemption.enabled=true', { preemption: { enabled: true } }],
  ['preemption.order=least-lost-work', { preemption: { order: 'least-lost-work' } }],
  [
    'guarantees=main/vision:2,main/text:1:10m',
    {
      guarantees: [
        { project: 'main/vision', gpuCount: 2 },
        { project: 'main/text', gpuCount: 1, returnSeconds: 600 },
      ],
    },
  ],
  [
    'guarantees=deployments:2,deployments@main/text:1:10m',
    {
      guarantees: [
        { kind: 'inference', gpuCount: 2 },
        { project: 'main/text', kind: 'inference', gpuCount: 1, returnSeconds: 600 },
      ],
    },
  ],
  ['guarantees=none', { guarantees: [] }],
  ['maxWait=2h', { maxWaitSeconds: 7200 }],
  ['maxWait=none', { maxWaitSeconds: null }],
  ['maxPending=100', { maxPendingSessions: 100 }],
  ['maxRuntime.batch=4h', { maxRuntimeSeconds: { batch: 14_400 } }],
  ['allowUnenforcedSharing=true', { allowUnenforcedSharing: true }],
  ['blackHoleFailures=0', { blackHoleFailures: 0 }],
  ['lostAfter=90s', { lostAfterSeconds: 90 }],
  ['paused=false', { paused: false }],
];

describe('berth group set', () => {
  test.each(rows)('%s', (pair, want) => {
    expect(policyPatch([pair])).toEqual(want);
    expect(patchGroupPolicySchema.safeParse(want).error).toBeUndefined();
  });

  test('what is not named of an object stays: the object is sent whole', () => {
    const present = groupPolicySchema.parse({ preemption: { enabled: true, scope: 'group' } });
    expect(policyPatch(['preemption.mode=terminate', 'decay.step=1', 'decay.by=off'], present)).toEqual({
      preemption: { ...present.preemption, mode: 'terminate' },
      decay: { ...present.decay, step: 1, by: 'off' },
    });
  });

  test('a limit of runtime is taken away, the others stay', () => {
    const present = groupPolicySchema.parse({ maxRuntimeSeconds: { batch: 60, interactive: 30 } });
    const { maxRuntimeSeconds } = policyPatch(['maxRuntime.batch=none'], present);
    expect(JSON.parse(JSON.stringify(maxRuntimeSeconds))).toEqual({ interactive: 30 });
  });

  const refused: readonly (readonly [pair: string, RegExp])[] = [
    ['backfil=easy', /"backfil" is no setting of a group: .*backfill/],
    ['backfill', /write backfill=none\|easy\|conservative/],
    ['backfill=some', /backfill: "some" is none of none, easy, conservative/],
    ['guarantees=vision:2', /DOMAIN\/PROJECT:GPUS/],
    ['slotOrder=gpu,disk', /"disk" is none of gpu, gpu.mem, cpu, mem/],
    ['paused=yes', /true, false/],
    ['toString=1', /no setting/],
  ];
  test.each(refused)('refuses %s, and says what to write', (pair, message) => {
    expect(() => policyPatch([pair])).toThrow(message);
  });
});

test('a group is told with its policy, in the words that group set takes', () => {
  const policy = groupPolicySchema.parse({
    backfill: 'easy',
    preemption: { enabled: true, scope: 'project' },
    guarantees: [
      { project: 'main/vision', gpuCount: 2, returnSeconds: 600 },
      { kind: 'inference', gpuCount: 1, returnSeconds: 60 },
    ],
    maxWaitSeconds: 7200,
  });
  const counts = { nodes: 2, pendingSessions: 3, runningSessions: 1, blockedBy: null };
  const group = { name: 'default', policy, domains: [], projects: [], ...counts, etag: '1', createdAt: '' };
  const text = groupText(group);
  expect(text).toMatch(/nodes: 2 {4}sessions: 1 run, 3 wait\n {2}for: everyone/);
  expect(text).toMatch(/backfill +easy: others may pass/);
  expect(text).toMatch(/preemption +on: sessions of lower priority of the same project, newest first; they go back/);
  expect(text).toMatch(/guarantees +main\/vision: 2 GPU within 10m, deployments: 1 GPU within 1m/);
  expect(text).toMatch(/maxWait +2h\n/);
  const byBudgets = groupText({ ...group, policy: { ...group.policy, order: 'fair-share' } });
  expect(byBudgets).toMatch(
    /guarantees +not kept under fair-share, the budgets say who gets what: main\/vision: 2 GPU/,
  );
});
