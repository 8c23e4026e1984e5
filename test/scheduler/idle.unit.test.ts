import { describe, expect, test } from 'vitest';
import { idlePolicySchema } from '../../src/contract/idle-policy.js';
import type { SessionId } from '../../src/contract/index.js';
import { idleDecision } from '../../src/scheduler/idle.js';
import type { IdleSubject, Measured, MeasuredKernel } from '../../src/scheduler/idle-subject.js';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const START = Date.parse('2026-11-30T08:00:00Z');
const NOW = START + 10 * HOUR;

const low = (forMs: number, value = 10): Measured => ({ value, lowSinceMs: NOW - forMs });
const high: Measured = { value: 500, lowSinceMs: NOW };
const missing: Measured = { value: null, lowSinceMs: NOW };

const kernel = (change: Partial<MeasuredKernel> = {}): MeasuredKernel => ({
  lastAtMs: NOW - 30_000,
  everyMs: MINUTE,
  cpu: low(2 * HOUR),
  memory: low(2 * HOUR),
  gpu: null,
  gpuMemory: null,
  ...change,
});

type Change = Partial<Omit<IdleSubject, 'policy' | 'requests'>> & {
  policy?: Parameters<typeof idlePolicySchema.parse>[0];
  requests?: Partial<IdleSubject['requests']>;
};
const subject = ({ policy, requests, ...change }: Change = {}): IdleSubject => ({
  sessionId: 'ses' as SessionId,
  attempt: 1,
  kind: 'interactive',
  project: 'default/work',
  policy: idlePolicySchema.parse(policy ?? { utilization: {} }),
  startedAtMs: START,
  protectedUntilMs: START,
  exemptions: [],
  hasPorts: true,
  kernels: [kernel()],
  requests: { inFlight: 0, lastAtMs: null, coveredSinceMs: START, ...requests },
  warnedAtMs: null,
  ...change,
});
const warned = (agoMs: number): Partial<IdleSubject> => ({ warnedAtMs: NOW - agoMs });

const both = { utilization: {}, network: {} };
const recent = { lastAtMs: NOW - MINUTE };

test.each<[string, IdleSubject, state: string, step: string]>([
  ['below every threshold for the window: it is warned first', subject(), 'warned', 'warn'],
  ['warned, and the warning time has passed: it ends', subject(warned(5 * MINUTE)), 'due', 'end'],
  ['warned a moment ago: not yet', subject(warned(5 * MINUTE - 1)), 'warned', 'none'],
  ['without a warning time it ends at once', subject({ policy: { utilization: {}, warningSeconds: 0 } }), 'due', 'end'],
  [
    'a window that has not passed counts',
    subject({ kernels: [kernel({ cpu: low(30 * MINUTE) })] }),
    'counting',
    'none',
  ],
  ['a busy processor', subject({ kernels: [kernel({ cpu: high })] }), 'active', 'none'],
  [
    'exactly at the threshold is not below it',
    subject({ kernels: [kernel({ cpu: low(HOUR, 100) })] }),
    'active',
    'none',
  ],
  [
    'busy again after the warning: the warning is taken back',
    subject({ kernels: [kernel({ cpu: high })], ...warned(MINUTE) }),
    'active',
    'clear',
  ],
  [
    'used after the warning, by a window as short as that: the warning is taken back, and given anew',
    subject({
      policy: { utilization: { windowSeconds: 60 } },
      kernels: [kernel({ cpu: low(MINUTE) })],
      ...warned(HOUR),
    }),
    'counting',
    'clear',
  ],
  ['one busy kernel of two', subject({ kernels: [kernel(), kernel({ cpu: high })] }), 'active', 'none'],
  ['a busy GPU beside an idle processor', subject({ kernels: [kernel({ gpu: high })] }), 'active', 'none'],
  ['an idle GPU beside an idle processor', subject({ kernels: [kernel({ gpu: low(2 * HOUR, 1) })] }), 'warned', 'warn'],
  ['a GPU that is not measured reclaims nothing', subject({ kernels: [kernel({ gpu: missing })] }), 'unknown', 'none'],
  ['no measurement at all reclaims nothing', subject({ kernels: [kernel({ lastAtMs: null })] }), 'unknown', 'none'],
  ['a silent node reclaims nothing', subject({ kernels: [kernel({ lastAtMs: NOW - 4 * MINUTE })] }), 'unknown', 'none'],
  [
    'a gap after the warning takes it back',
    subject({ kernels: [kernel({ lastAtMs: null })], ...warned(HOUR) }),
    'unknown',
    'clear',
  ],
  [
    'memory is looked at where a threshold is set',
    subject({ policy: { utilization: { memoryPercent: 5 } } }),
    'active',
    'none',
  ],
  [
    'memory of the GPU too',
    subject({
      policy: { utilization: { gpuMemoryPercent: 5 } },
      kernels: [kernel({ gpu: low(2 * HOUR, 0), gpuMemory: low(0, 60) })],
    }),
    'active',
    'none',
  ],
  [
    'only a GPU is looked at, and it has none',
    subject({ policy: { utilization: { cpuMilli: null } } }),
    'active',
    'none',
  ],
  ['no request for the window', subject({ policy: { network: {} } }), 'warned', 'warn'],
  ['a request is under way', subject({ policy: { network: {} }, requests: { inFlight: 1 } }), 'active', 'none'],
  ['a request a minute ago', subject({ policy: { network: {} }, requests: recent }), 'counting', 'none'],
  ['a gateway is silent', subject({ policy: { network: {} }, requests: { coveredSinceMs: null } }), 'unknown', 'none'],
  [
    'the gateways have reported for a minute only',
    subject({ policy: { network: {} }, requests: { coveredSinceMs: NOW - MINUTE } }),
    'counting',
    'none',
  ],
  ['no ports: the network says nothing of it', subject({ policy: { network: {} }, hasPorts: false }), 'active', 'none'],
  [
    'it ran for its lifetime, however busy',
    subject({ policy: { lifetime: { afterSeconds: 36_000 } }, kernels: [kernel({ cpu: high })] }),
    'warned',
    'warn',
  ],
  ['its lifetime is not over', subject({ policy: { lifetime: { afterSeconds: 72_000 } } }), 'counting', 'none'],
  ['all: idle, but used through the proxy', subject({ policy: both, requests: { inFlight: 2 } }), 'active', 'none'],
  ['all: neither used nor busy', subject({ policy: both }), 'warned', 'warn'],
  ['all: what it does not have is left out', subject({ policy: both, hasPorts: false }), 'warned', 'warn'],
  ['all: one of them is not known', subject({ policy: both, requests: { coveredSinceMs: null } }), 'unknown', 'none'],
  [
    'any: idle, though used through the proxy',
    subject({ policy: { when: 'any', ...both }, requests: { inFlight: 2 } }),
    'warned',
    'warn',
  ],
  [
    'any: busy, and not used',
    subject({ policy: { when: 'any', ...both }, kernels: [kernel({ cpu: high })] }),
    'warned',
    'warn',
  ],
  [
    'any: busy and used',
    subject({ policy: { when: 'any', ...both }, kernels: [kernel({ cpu: high })], requests: { inFlight: 1 } }),
    'active',
    'none',
  ],
  [
    'any: one is not known, the other holds',
    subject({ policy: { when: 'any', ...both }, kernels: [kernel({ lastAtMs: null })] }),
    'warned',
    'warn',
  ],
  ['within the minimum runtime', subject({ protectedUntilMs: NOW + HOUR, ...warned(HOUR) }), 'counting', 'clear'],
  [
    'exempt by its project',
    subject({ policy: { utilization: {}, exemptProjects: ['default/work'] } }),
    'exempt',
    'none',
  ],
  ['exempt by its own request', subject({ exemptions: ['utilization'] }), 'exempt', 'none'],
  [
    'exempt from one of all: that one never holds',
    subject({ policy: both, exemptions: ['network'] }),
    'exempt',
    'none',
  ],
  [
    'exempt from one of any: the other holds',
    subject({ policy: { when: 'any', ...both }, exemptions: ['network'] }),
    'warned',
    'warn',
  ],
  [
    'its request is not honoured',
    subject({ policy: { utilization: {}, honourExemptions: false }, exemptions: ['utilization'] }),
    'warned',
    'warn',
  ],
])('%s', (_title, given, state, step) => {
  const { verdict, step: done } = idleDecision(given, NOW);
  expect([verdict.state, done]).toEqual([state, step]);
});

describe('what a verdict says', () => {
  test('the measure, its threshold, since when, and when it is reclaimed', () => {
    const { verdict } = idleDecision(subject({ kernels: [kernel({ cpu: low(30 * MINUTE, 12.4) })] }), NOW);
    expect(verdict).toMatchObject({
      since: '2026-11-30T17:30:00.000Z',
      reclaimAt: '2026-11-30T18:30:00.000Z',
      warnedAt: null,
      findings: [
        { criterion: 'utilization', measure: 'cpu', status: 'low', value: 12.4, threshold: 100 },
        { measure: 'gpu', status: 'absent' },
      ],
    });
    expect(verdict.message).toBe(
      'idle since 2026-11-30T17:30:00.000Z (cpu 12 of 100 millicores); it ends at 2026-11-30T18:30:00.000Z unless it is used',
    );
  });

  test('a policy that was attached a moment ago still warns for its whole time, however long it was idle before', () => {
    const { verdict } = idleDecision(subject({ kernels: [kernel({ cpu: low(9 * HOUR) })] }), NOW);
    expect(Date.parse(verdict.reclaimAt ?? '') - NOW).toBe(5 * MINUTE);
  });

  test('no window begins within the grace period', () => {
    const given = subject({
      policy: { utilization: {}, graceSeconds: 36_000 },
      kernels: [kernel({ cpu: low(9 * HOUR) })],
    });
    expect(idleDecision(given, NOW).verdict).toMatchObject({
      state: 'counting',
      reclaimAt: '2026-11-30T19:00:00.000Z',
    });
  });

  test.each<[string, IdleSubject, number | null]>([
    [
      'before the warning: when it is due, or a measurement is missing',
      subject({ kernels: [kernel({ cpu: low(54 * MINUTE), lastAtMs: NOW })] }),
      MINUTE,
    ],
    ['after it: when it ends', subject({ kernels: [kernel({ lastAtMs: NOW })], ...warned(4 * MINUTE) }), MINUTE],
    ['in use: when a measurement is missing', subject({ kernels: [kernel({ cpu: high, lastAtMs: NOW })] }), 185_001],
    ['not measured: when something new is', subject({ kernels: [kernel({ lastAtMs: null })] }), null],
  ])('is looked at again without news %s', (_when, given, inMs) => {
    const { nextLookMs } = idleDecision(given, NOW);
    expect(nextLookMs === null ? null : nextLookMs - NOW).toBe(inMs);
  });

  test('any: the first that is due is the one that ends it', () => {
    const policy = { when: 'any' as const, utilization: {}, lifetime: { afterSeconds: 36_300 } };
    const given = subject({ policy, kernels: [kernel({ cpu: low(MINUTE) })] });
    expect(idleDecision(given, NOW).verdict).toMatchObject({ since: '2026-11-30T08:00:00.000Z' });
  });
});
