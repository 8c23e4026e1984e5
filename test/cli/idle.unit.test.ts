import { describe, expect, test } from 'vitest';
import { idleLines, idleShort } from '../../src/cli/idle-lines.js';
import { idlePolicyText, parseIdle } from '../../src/cli/idle-setting.js';
import { policyPatch } from '../../src/cli/policy-settings.js';
import { renderTable } from '../../src/cli/table.js';
import { USAGE, usageRows } from '../../src/cli/usage-rows.js';
import {
  groupPolicySchema,
  type IdleVerdict,
  idlePolicySchema,
  patchGroupPolicySchema,
  type SessionUsage,
} from '../../src/contract/index.js';

const NOW = new Date('2026-11-30T12:00:00Z');
const idle: IdleVerdict = {
  state: 'counting',
  message: 'idle since 11:00',
  since: '2026-11-30T11:00:00.000Z',
  reclaimAt: '2026-11-30T12:04:00.000Z',
  warnedAt: null,
  findings: [],
};

describe('berth group set idle.KIND=…', () => {
  test.each<[string, object]>([
    ['all,utilization', { utilization: {} }],
    [
      'any,cpu:250m,gpu:none,window:10m,network',
      { when: 'any', utilization: { cpuMilli: 250, gpuPercent: null, windowSeconds: 600 }, network: {} },
    ],
    [
      'lifetime:8h,grace:0,warning:90s,exempt:a/b,exempt:a/c,strict',
      {
        lifetime: { afterSeconds: 28_800 },
        graceSeconds: 0,
        warningSeconds: 90,
        exemptProjects: ['a/b', 'a/c'],
        honourExemptions: false,
      },
    ],
    [
      'gpu.mem:10%,mem:2.5,network:30m',
      { utilization: { gpuMemoryPercent: 10, memoryPercent: 2.5 }, network: { windowSeconds: 1800 } },
    ],
  ])('%s', (text, expected) => {
    const parsed = idlePolicySchema.parse(parseIdle({ name: 'idle.batch', text }));
    expect(parsed).toEqual(idlePolicySchema.parse(expected));
    expect(idlePolicySchema.parse(parseIdle({ name: 'idle.batch', text: idlePolicyText(parsed) }))).toEqual(parsed);
  });

  test.each<[string, RegExp]>([
    ['all', /what counts as idle/],
    ['sometimes', /none of off\|all\|any/],
    ['gpu:120', /percentage/],
    ['window:soon', /duration/],
    ['toString:1', /none of/],
  ])('refuses %s, and says what to write', (text, message) => {
    expect(() => parseIdle({ name: 'idle.batch', text })).toThrow(message);
  });

  test('keeps the policies of other kinds; off takes one away', () => {
    const present = groupPolicySchema.parse({ idle: { batch: { network: {} }, interactive: { network: {} } } });
    const patch = policyPatch(['idle.batch=off', 'idle.system=utilization'], present);
    const sent = patchGroupPolicySchema.parse(JSON.parse(JSON.stringify(patch)));
    expect(Object.keys(sent.idle ?? {}).toSorted()).toEqual(['interactive', 'system']);
  });
});

test.each<[string, IdleVerdict | null, string, number]>([
  ['no policy', null, '-', 0],
  ['in use', { ...idle, state: 'active', reclaimAt: null }, 'active', 0],
  ['its window runs', idle, 'ends in 4m', 1],
  ['warned', { ...idle, state: 'warned' }, 'warned, ends in 4m', 1],
  ['not measured', { ...idle, state: 'unknown', reclaimAt: null }, 'unknown', 1],
])('the countdown of one: %s', (_title, verdict, short, lines) => {
  expect([idleShort(verdict, NOW), idleLines(verdict, NOW).length]).toEqual([short, lines]);
});

test('berth top: a line for each device of each kernel; what is not measured is ?', () => {
  const device = (id: string, busyPercent: number | null) => ({
    ...{
      id,
      node: 'n1',
      model: 'H200',
      simulated: true,
      busyPercent,
      memoryBytes: busyPercent === null ? null : 2 ** 30,
    },
    promisedBytes: 2 ** 31,
  });
  const kernel = (role: string, cpuMilli: number | null, devices: SessionUsage['kernels'][number]['devices']) => ({
    ...{
      kernelId: 'k' as never,
      role,
      node: 'n1',
      measuredAt: null,
      cpuMilli,
      cpuMilliPromised: 2000,
      memoryBytes: 2 ** 20,
    },
    ...{ memoryBytesPromised: 2 ** 30, receivedBytes: 0, sentBytes: 0, devices },
  });
  const session: SessionUsage = {
    ...{
      sessionId: 's' as never,
      name: 'train',
      kind: 'batch',
      user: 'bob',
      project: 'p',
      group: 'g',
      startedAt: null,
    },
    ...{ createdAt: '', requestsInFlight: 2, lastRequestAt: null, idle },
    kernels: [kernel('main', 1250.4, [device('sim-0', 97.2), device('sim-1', null)]), kernel('worker1', null, [])],
  };
  const text = renderTable(usageRows([session]), USAGE.columns, { isWide: false, now: NOW });
  expect(
    text
      .split('\n')
      .slice(1)
      .map((line) => line.trim().replace(/ {2,}/g, ' | ')),
  ).toEqual([
    'train | bob | main on n1 | 1.25/2 | 1Mi/1Gi | sim-0 H200 (simulated) | 97% | 1Gi/2Gi | 2 | ends in 4m',
    'sim-1 H200 (simulated) | ? | ?/2Gi',
    'worker1 on n1 | ?/2 | 1Mi/1Gi | - | - | -',
  ]);
});
