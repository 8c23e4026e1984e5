import { describe, expect, test } from 'vitest';
import {
  cpusInUse,
  differences,
  endedBy,
  isState,
  nothingInUse,
  waitsBehind,
  waitsForCapacity,
  waitsForQuota,
} from '../../src/cli/demo/expectations.js';
import { releaseOrder } from '../../src/cli/demo/release-order.js';
import type { Expectation, Sample, SeenSession } from '../../src/cli/demo/sample.js';
import type { Blocker, SessionEvent } from '../../src/contract/index.js';

const session = (fields: Partial<SeenSession>): SeenSession => ({
  id: 'ses_1',
  state: 'PENDING',
  reason: null,
  message: '',
  blockers: [],
  position: null,
  cause: null,
  nodes: [],
  expectedStart: null,
  placedAt: null,
  ...fields,
});
const blocker = (fields: Partial<Blocker>): Blocker => ({
  kind: 'capacity',
  scope: 'node',
  name: 'n',
  resource: 'cpuMilli',
  need: 4000,
  used: 2000,
  limit: 4000,
  ...fields,
});
const sample = (sessions: Record<string, SeenSession>, cpuMilli = 0): Sample => ({
  at: '',
  elapsedSeconds: 0,
  step: '',
  sessions,
  use: { cpuMilli, cpuMilliCapacity: 4000, gpus: 0, gpuCapacity: 4 },
});

const short = session({ reason: 'insufficient_capacity', message: 'needs', blockers: [blocker({})] });
const behind = session({
  id: 'ses_2',
  reason: 'behind_in_queue',
  message: 'behind',
  blockers: [blocker({ kind: 'session', name: 'ses_1', resource: null })],
});
const full = session({
  reason: 'project_quota',
  message: 'GPU held 2 + 1 > 2, over by 1 GPU',
  blockers: [blocker({ kind: 'quota', resource: 'gpuCount', need: 1, used: 2, limit: 2 })],
});
const lack2 = waitsForCapacity('a', { resource: 'cpuMilli', more: 2000 });

describe('an expectation', () => {
  const rows: readonly (readonly [string, Expectation, Sample, boolean])[] = [
    ['2 more CPU: seen', lack2, sample({ a: short }), true],
    ['another amount', waitsForCapacity('a', { resource: 'cpuMilli', more: 1000 }), sample({ a: short }), false],
    ['another slot', waitsForCapacity('a', { resource: 'gpuCount', more: 2000 }), sample({ a: short }), false],
    ['capacity while it runs', lack2, sample({ a: session({ ...short, state: 'RUNNING' }) }), false],
    ['no such session', lack2, sample({}), false],
    ['behind by id: seen', waitsBehind('b', 'a'), sample({ a: short, b: behind }), true],
    ['behind another', waitsBehind('b', 'a'), sample({ a: session({ id: 'ses_9' }), b: behind }), false],
    ['the sum of the quota: seen', waitsForQuota('a', { held: 2, requested: 1, limit: 2 }), sample({ a: full }), true],
    ['another sum', waitsForQuota('a', { held: 1, requested: 1, limit: 2 }), sample({ a: full }), false],
    ['a state', isState('a', 'RUNNING'), sample({ a: short }), false],
    [
      'an end and its cause',
      endedBy('a', 'bad-command'),
      sample({ a: session({ state: 'ERROR', cause: 'bad-command' }) }),
      true,
    ],
    ['use', cpusInUse(2000), sample({}, 2000), true],
    ['nothing in use', nothingInUse, sample({}, 1), false],
  ];
  for (const [title, expectation, given, want] of rows) {
    test(`${title} (${want ? 'holds' : 'differs'})`, () => expect(expectation.holds(given)).toBe(want));
  }

  test('that differs says what was expected and what was seen', () => {
    expect(differences([lack2, isState('a', 'PENDING')], sample({ a: session({ state: 'RUNNING' }) }))).toEqual([
      'expected: a waits: insufficient_capacity, for 2 more CPU; seen: a is RUNNING',
      'expected: a is PENDING; seen: a is RUNNING',
    ]);
  });
});

describe('release order', () => {
  const event = (to: string, at: string, data = {}) =>
    ({ kind: 'state', to, at, cause: 'c', data }) as unknown as SessionEvent;
  const failed = [
    event('TERMINATING', '2026-01-01T00:00:01Z'),
    event('ERROR', '2026-01-01T00:00:02Z', { nodeReleased: true }),
  ];
  test('is node, ledger, next', () => {
    expect(releaseOrder(failed, [event('SCHEDULED', '2026-01-01T00:00:03Z')]).map(({ at }) => at)).toHaveLength(3);
  });
  test('differs when the next one was placed before the ledger released', () => {
    expect(() => releaseOrder(failed, [event('SCHEDULED', '2026-01-01T00:00:01.5Z')])).toThrow(/the other way round/);
  });
  test('differs when the node had not released before', () => {
    const early = [failed[0] as SessionEvent, event('ERROR', '2026-01-01T00:00:02Z', { nodeReleased: false })];
    expect(() => releaseOrder(early, [event('SCHEDULED', '2026-01-01T00:00:03Z')])).toThrow(/node released before/);
  });
});
