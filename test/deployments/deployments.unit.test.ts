import { describe, expect, test } from 'vitest';
import { type MetricRule, type ScaleGround, scaleDecision, stands } from '../../src/deployments/autoscale.js';
import { backOffMs } from '../../src/deployments/back-off.js';
import { converge } from '../../src/deployments/converge.js';
import { healthRulesOf } from '../../src/deployments/health-presets.js';
import type { Replica } from '../../src/deployments/replica.js';
import { type HealthEvent, type HealthRules, nextHealth, PROVISIONED } from '../../src/deployments/replica-health.js';

const RULES: HealthRules = { initialDelayMs: 60_000, failures: 3, hasCheck: true };
const STARTED: HealthEvent = { kind: 'started' };
const SUCCESS: HealthEvent = { kind: 'success' };
const MISS: HealthEvent = { kind: 'miss', refused: false, message: '503' };
const REFUSED: HealthEvent = { kind: 'miss', refused: true, message: 'connection refused' };
const tick = (seconds: number): HealthEvent => ({ kind: 'tick', sinceStartMs: seconds * 1000 });

describe('health', () => {
  test.each<[string, readonly HealthEvent[], string, string]>([
    ['waits for a GPU', [], 'PROVISIONING', 'unknown'],
    ['misses while it warms up mean nothing', [STARTED, MISS, REFUSED, MISS, MISS], 'WARMING', 'unknown'],
    ['the warm-up has a time limit', [STARTED, MISS, tick(61)], 'WARMING', 'unhealthy'],
    ['the limit itself is still in time', [STARTED, tick(60)], 'WARMING', 'unknown'],
    ['serves from the first success', [STARTED, MISS, SUCCESS], 'ACTIVE', 'healthy'],
    ['no limit after the first success', [STARTED, SUCCESS, tick(100)], 'ACTIVE', 'healthy'],
    ['degraded from the first miss on', [STARTED, SUCCESS, MISS, MISS], 'ACTIVE', 'degraded'],
    ['a success forgets the misses', [STARTED, SUCCESS, MISS, MISS, SUCCESS, MISS, MISS], 'ACTIVE', 'degraded'],
    ['unhealthy after so many in a row', [STARTED, SUCCESS, MISS, MISS, MISS], 'ACTIVE', 'unhealthy'],
    ['a refused connection at once', [STARTED, SUCCESS, REFUSED], 'ACTIVE', 'unhealthy'],
    ['unhealthy stays so: it is replaced', [STARTED, SUCCESS, REFUSED, SUCCESS], 'ACTIVE', 'unhealthy'],
  ])('%s', (_title, events, route, health) => {
    const state = events.reduce((before, event) => nextHealth(before, event, RULES), PROVISIONED);
    expect(state).toMatchObject({ route, health });
  });

  test('without a check it is healthy when it runs', () => {
    expect(nextHealth(PROVISIONED, STARTED, { ...RULES, hasCheck: false })).toMatchObject({
      route: 'ACTIVE',
      health: 'healthy',
    });
  });

  test('says what it answered last when it was never healthy', () => {
    const state = [STARTED, MISS, tick(61)].reduce((before, event) => nextHealth(before, event, RULES), PROVISIONED);
    expect(state.lastMessage).toBe('not healthy within 60 s; last answer: 503');
  });
});

const replica = (id: string, more: Partial<Replica> = {}): Replica => ({
  id,
  revision: 1,
  createdMs: 0,
  startedMs: 0,
  servingMs: 0,
  route: 'ACTIVE',
  health: 'healthy',
  isRefused: false,
  ...more,
});
const CALM = { failures: () => ({ inARow: 0, lastMs: 0 }), nowMs: 1_000_000 };

describe('health rules', () => {
  test.each([
    ['vllm' as const, { hasCheck: false }, { initialDelayMs: 1_800_000, failures: 10, hasCheck: true }],
    [null, { hasCheck: false }, { initialDelayMs: 60_000, failures: 10, hasCheck: false }],
    [
      'tgi' as const,
      { hasCheck: true, initialDelaySeconds: 5, failures: 2 },
      { initialDelayMs: 5_000, failures: 2, hasCheck: true },
    ],
  ])('of %s', (preset, asked, rules) => {
    expect(healthRulesOf(preset, asked)).toEqual(rules);
  });
});

describe('convergence', () => {
  test('live counts from creation on: one that waits for a GPU is not made again', () => {
    const waiting = replica('b', { route: 'PROVISIONING', health: 'unknown', startedMs: null });
    expect(converge([{ revision: 1, count: 2 }], [replica('a'), waiting], CALM)).toMatchObject({
      create: [],
      message: null,
    });
  });

  test('says the counts of what it corrects', () => {
    const corrected = converge([{ revision: 1, count: 3 }], [replica('a'), replica('b')], CALM);
    expect(corrected).toMatchObject({ create: [{ revision: 1, count: 1 }], message: 'live 2, wanted 3' });
  });

  test('too many: first those that do not serve, then the newest', () => {
    const replicas = [
      replica('old', { createdMs: 1 }),
      replica('new', { createdMs: 9 }),
      replica('warming', { createdMs: 2, route: 'WARMING', health: 'unknown' }),
    ];
    const { drain } = converge([{ revision: 1, count: 1 }], replicas, CALM);
    expect(drain.map(({ id }) => id)).toEqual(['warming', 'new']);
  });

  test('and before the newest one that a gateway does not reach: its node may have vanished', () => {
    const replicas = [replica('gone', { createdMs: 1, isRefused: true }), replica('new', { createdMs: 9 })];
    const { drain } = converge([{ revision: 1, count: 1 }], replicas, CALM);
    expect(drain.map(({ id }) => id)).toEqual(['gone']);
  });

  test('an unhealthy one ends and is replaced in one turn', () => {
    const corrected = converge([{ revision: 1, count: 1 }], [replica('a', { health: 'unhealthy' })], CALM);
    expect(corrected).toMatchObject({ create: [{ revision: 1, count: 1 }], drain: [{ id: 'a', why: 'unhealthy' }] });
  });

  test('failures in a row hold back the next one, and say until when', () => {
    const failing = { failures: () => ({ inARow: 3, lastMs: 1_000_000 }), nowMs: 1_010_000 };
    expect(converge([{ revision: 1, count: 1 }], [], failing)).toMatchObject({ create: [], nextMs: 1_020_000 });
  });

  test('the first death is made up for at once; then 10, 20, 40 … 300 s', () => {
    expect([0, 1, 2, 3, 4, 6, 7, 60].map(backOffMs)).toEqual([0, 0, 10_000, 20_000, 40_000, 160_000, 300_000, 300_000]);
  });
});

const LOAD: MetricRule = { name: 'load', upAt: 10, downAt: 2, step: 2, coolDownMs: 60_000 };
const QUEUE: MetricRule = { name: 'queue', upAt: 5, downAt: null, step: 4, coolDownMs: 60_000 };
const IDLE: MetricRule = { name: 'idle', upAt: null, downAt: 1, step: 1, coolDownMs: 60_000 };
const ground = (metrics: Record<string, number | null>, more: Partial<ScaleGround> = {}): ScaleGround => ({
  current: 4,
  minimum: 0,
  maximum: 10,
  metrics: new Map(Object.entries(metrics)),
  lastFiredMs: new Map(),
  nowMs: 1_000_000,
  ...more,
});

describe('autoscaling', () => {
  test.each<[string, ScaleGround, number, string | null]>([
    ['nothing to do', ground({ load: 5 }), 4, null],
    ['up', ground({ load: 11 }), 6, 'load'],
    ['down', ground({ load: 1 }), 2, 'load'],
    ['the largest up wins', ground({ load: 11, queue: 6 }), 8, 'queue'],
    ['any up wins over any down', ground({ load: 1, queue: 6 }), 8, 'queue'],
    ['of several downs the smallest', ground({ load: 1, idle: 0 }), 3, 'idle'],
    ['a step past the bound is clamped to it', ground({ queue: 6 }, { current: 9 }), 10, 'queue'],
    ['down to zero where that is the minimum', ground({ load: 0 }, { current: 1 }), 0, 'load'],
    ['a missing metric decides nothing', ground({ load: null, queue: null }), 4, null],
    [
      'a rule that cools down says nothing',
      ground({ load: 11 }, { lastFiredMs: new Map([['load', 950_000]]) }),
      4,
      null,
    ],
    ['outside its bounds it is brought within', ground({ load: 5 }, { current: 12 }), 10, null],
  ])('%s', (_title, given, wanted, by) => {
    expect(scaleDecision([LOAD, QUEUE, IDLE], [], given)).toMatchObject({ wanted, by });
  });

  test('keeps what each rule said, with its number', () => {
    const { rules, because } = scaleDecision([LOAD, QUEUE], [], ground({ load: 11, queue: null }));
    expect(rules).toEqual([
      { rule: 'load', says: 'up', value: 11, count: 6 },
      { rule: 'queue', says: 'missing', value: null, count: null },
    ]);
    expect(because).toBe('load is 11: 4 → 6');
  });

  const NIGHT = { name: 'night', wanted: 6, fromMinute: 22 * 60, untilMinute: 6 * 60, days: [5] };
  test.each<[string, string, boolean]>([
    ['Friday, 22:00', '2026-11-27T22:00:00Z', true],
    ['Saturday, 05:59', '2026-11-28T05:59:00Z', true],
    ['Saturday, 06:00', '2026-11-28T06:00:00Z', false],
    ['Saturday, 22:00', '2026-11-28T22:00:00Z', false],
    ['Friday, 05:00', '2026-11-27T05:00:00Z', false],
  ])('a night from Friday stands: %s', (_title, at, isOn) => {
    expect(stands(NIGHT, Date.parse(at))).toBe(isOn);
  });

  test('a schedule is a floor: rules go above it, and never below', () => {
    const nowMs = Date.parse('2026-11-27T23:00:00Z');
    expect(scaleDecision([LOAD], [NIGHT], ground({ load: 5 }, { nowMs }))).toMatchObject({ wanted: 6, by: 'night' });
    expect(scaleDecision([LOAD], [NIGHT], ground({ load: 11 }, { nowMs }))).toMatchObject({ wanted: 8, by: 'load' });
    expect(scaleDecision([LOAD], [NIGHT], ground({ load: 1 }, { nowMs }))).toMatchObject({ wanted: 6 });
  });
});
