import { describe, expect, test } from 'vitest';
import { autoscaleSchema } from '../../src/contract/index.js';
import { planDeployment } from '../../src/deployments/plan-deployment.js';
import type { MetricAnswer } from '../../src/deployments/scale-turn.js';
import { turnDetails } from '../../src/deployments/turn-details.js';
import type { DeploymentSnapshot } from '../../src/deployments/turn-types.js';
import { after, dead, plan, rolloutTo, row, snapshotOf, waiting } from './world.js';

const NOW = snapshotOf().nowMs;
const two = [row('a'), row('b')];
const target = (id: string, servingMs: number | null) =>
  servingMs === null
    ? row(id, { ...waiting, revision: 2 })
    : row(id, { revision: 2, servingMs, createdMs: NOW - 60_000 });

describe('who is made, and who leaves', () => {
  test.each<[string, Partial<DeploymentSnapshot>, object]>([
    ['nobody where all is as wanted', { replicas: two }, { create: [], drain: [], events: [] }],
    [
      'a dead one is made up for in the same turn, and counts as a failure',
      { replicas: [row('a'), row('b', dead())] },
      {
        create: [{ revision: 1, count: 1 }],
        drain: [{ id: 'b', why: 'unhealthy' }],
        failures: { 1: { inARow: 1, lastMs: NOW } },
        retryMs: null,
      },
    ],
    [
      'those that a lost node takes are no failures, however many',
      { wanted: 3, replicas: ['a', 'b', 'c'].map((id) => row(id, dead('platform'))) },
      { create: [{ revision: 1, count: 3 }], failures: {} },
    ],
    [
      'all that die together are one failure',
      { wanted: 3, replicas: ['a', 'b', 'c'].map((id) => row(id, dead())) },
      { create: [{ revision: 1, count: 3 }], failures: { 1: { inARow: 1, lastMs: NOW } } },
    ],
    [
      'a second failure in a row waits 10 s',
      {
        replicas: [row('a'), row('b', { ...dead(), createdMs: NOW - 5_000, servingMs: null })],
        failures: { 1: { inARow: 1, lastMs: NOW - 5_000 } },
      },
      { create: [], failures: { 1: { inARow: 2, lastMs: NOW } }, retryMs: NOW + 10_000 },
    ],
    [
      'one that served for a minute ends the row',
      {
        replicas: [row('a'), row('b', { createdMs: NOW - 90_000, servingMs: NOW - 60_000 })],
        failures: { 1: { inARow: 4, lastMs: NOW - 90_000 } },
      },
      { failures: { 1: { inARow: 0, lastMs: 0 } } },
    ],
    [
      'one whose session has ended is not counted twice once it drains',
      {
        replicas: [
          ...two,
          row('c', { ...dead(), route: 'ENDED', drainingMs: NOW - 9_000, sessionState: 'TERMINATED' }),
        ],
      },
      { create: [], drain: [], failures: {}, events: [] },
    ],
    [
      'all of one that is ended',
      { isEnding: true, replicas: two },
      {
        drain: [
          { id: 'a', why: 'ending' },
          { id: 'b', why: 'ending' },
        ],
        create: [],
        weights: [],
      },
    ],
  ])('%s', (_title, change, decided) => {
    expect(plan(change).turn).toMatchObject(decided);
  });
});

describe('a replica that drains is stopped', () => {
  const draining = (change: object) => row('c', { route: 'DRAINING', drainingMs: NOW - 1_000, inFlight: 1, ...change });
  test.each<[string, object, readonly string[]]>([
    ['not while it has requests in flight', {}, []],
    ['once it is empty', { inFlight: 0, isDrained: true }, ['c']],
    ['after its grace, whatever is in flight', { drainingMs: NOW - 3_000 }, ['c']],
    ['at once where it never served', { servingMs: null }, ['c']],
    ['once only', { isDrained: true, sessionState: 'TERMINATING' }, []],
  ])('%s', (_title, change, stop) => {
    expect(plan({ replicas: [...two, draining(change)] }).turn.stop).toEqual(stop);
  });

  test('and its grace is a moment at which the workflow looks again', () => {
    expect(plan({ replicas: [...two, draining({ drainingMs: NOW })] }).nextMs).toBe(NOW + 3_000);
  });
});

describe('a rollout', () => {
  const rollout = rolloutTo(2);
  test.each<[string, Partial<DeploymentSnapshot>, object]>([
    ['surges first', { replicas: two }, { create: [{ revision: 2, count: 1 }], drain: [] }],
    [
      'takes nobody for one that serves since a moment: it may be a crash loop',
      { replicas: [...two, target('n', NOW - 9_000)] },
      { create: [], drain: [], weights: [{ revision: 1, percent: 100 }] },
    ],
    [
      'takes one for one that has proven itself',
      { replicas: [...two, target('n', NOW - 10_000)] },
      { create: [{ revision: 2, count: 1 }], drain: [{ id: 'a', why: 'old-revision' }] },
    ],
    [
      'takes nobody for one that a gateway does not reach, however long it served',
      { replicas: [...two, { ...target('n', NOW - 60_000), isRefused: true }] },
      { create: [], drain: [] },
    ],
    [
      'takes first of the old ones the one that a gateway does not reach',
      { replicas: [row('a'), row('b', { isRefused: true }), target('n', NOW - 10_000)] },
      { drain: [{ id: 'b', why: 'old-revision' }] },
    ],
    [
      'of one that failed before, it takes a minute to prove itself',
      { replicas: [...two, target('n', NOW - 30_000)], failures: { 2: { inARow: 2, lastMs: NOW - 50_000 } } },
      { drain: [] },
    ],
    [
      'that fails: an old one that dies comes back',
      { replicas: [row('a'), row('b', dead())], failures: { 2: { inARow: 3, lastMs: NOW } } },
      { create: [{ revision: 1, count: 1 }], retryMs: NOW + 20_000 },
    ],
    [
      'at a new count makes what is missing of the new revision',
      { wanted: 4, replicas: two },
      { create: [{ revision: 2, count: 3 }], drain: [] },
    ],
    [
      'keeps one of a third revision that serves, as long as the target does not',
      { replicas: [row('a'), row('x', { revision: 3 })] },
      {
        drain: [],
        weights: [
          { revision: 1, percent: 50 },
          { revision: 3, percent: 50 },
        ],
      },
    ],
    [
      'goes back after its time',
      { replicas: [...two, target('n', null)], rollout: rolloutTo(2, { progressMs: NOW - 600_000 }) },
      { verdict: { kind: 'roll-back' }, rollout: null, drain: [{ id: 'n', why: 'old-revision' }] },
    ],
    [
      'that goes back to the good revision has nothing to go back to',
      { current: 2, rollout: rolloutTo(2, { progressMs: NOW - 600_000 }), replicas: two },
      { verdict: null },
    ],
    [
      'at zero waits for the first replica',
      { wanted: 0, rollout: rolloutTo(2, { progressMs: NOW - 600_000 }) },
      { verdict: null, create: [], rollout: { progressMs: NOW } },
    ],
    [
      'that is paused still makes up for a death',
      { rollout: rolloutTo(2, { paused: true }), replicas: [row('a'), row('b', dead())] },
      { create: [{ revision: 1, count: 1 }] },
    ],
  ])('%s', (_title, change, decided) => {
    expect(plan({ rollout, ...change }).turn).toMatchObject(decided);
  });
});

const BUSY = { name: 'busy', metric: { kind: 'requests-in-flight' }, upAt: 10, downAt: 1 };
const ASKED = { name: 'asked', metric: { kind: 'prometheus', query: 'up' }, upAt: 10 };
const auto = (change: object) => autoscaleSchema.parse({ minimum: 0, maximum: 5, ...change });
const onFriday = (time: string) => Date.parse(`2026-11-27T${time}Z`);
const DAY = auto({ minimum: 1, schedules: [{ name: 'day', replicas: 3, from: '08:00', until: '20:00' }] });

describe('the count', () => {
  test.each<[string, Partial<DeploymentSnapshot>, object]>([
    [
      "is the owner's without rules, and a request wakes nothing",
      { wanted: 0, wakeAskedMs: NOW },
      { wanted: 0, clearWake: true },
    ],
    [
      'at zero is woken by a request',
      { wanted: 0, autoscale: auto({}), wakeAskedMs: NOW },
      {
        wanted: 1,
        fired: 'request',
        clearWake: true,
        create: [{ revision: 1, count: 1 }],
        decision: { by: 'request' },
      },
    ],
    [
      'that was woken stays until somebody has served',
      { wanted: 1, autoscale: auto({ rules: [BUSY] }), metrics: { busy: 0 }, replicas: [row('a', waiting)] },
      { wanted: 1, fired: null },
    ],
    [
      'goes to zero by a rule once it served for its cool-down',
      { wanted: 1, autoscale: auto({ rules: [BUSY] }), metrics: { busy: 0 }, replicas: [row('a')] },
      { wanted: 0, fired: 'busy' },
    ],
    [
      'goes to its minimum without a request for so long',
      { autoscale: auto({ minimum: 1, idleAfterSeconds: 60 }), lastRequestMs: NOW - 60_000, replicas: two },
      { wanted: 1, fired: 'idle' },
    ],
    [
      'does not while one is in flight',
      {
        autoscale: auto({ idleAfterSeconds: 60 }),
        lastRequestMs: NOW - 90_000,
        replicas: [row('a', { inFlight: 1 }), row('b')],
      },
      { wanted: 2 },
    ],
    ['follows a schedule', { nowMs: onFriday('08:00:00'), wanted: 1, autoscale: DAY }, { wanted: 3, fired: 'day' }],
    [
      'goes back once its time is over',
      { nowMs: onFriday('20:00:00'), wanted: 3, autoscale: DAY, lastFiredMs: { day: onFriday('08:00:00') } },
      { wanted: 1, fired: 'schedules-over' },
    ],
    [
      "is the owner's again after that",
      { nowMs: onFriday('21:00:00'), wanted: 2, autoscale: DAY, lastFiredMs: { day: 1, 'schedules-over': 2 } },
      { wanted: 2, fired: null },
    ],
  ])('%s', (_title, change, decided) => {
    expect(plan(change).turn).toMatchObject(decided);
  });

  test('a missing metric decides nothing, and the decision says why it is missing', () => {
    const answers = new Map<string, MetricAnswer>([['asked', { missing: 'Prometheus is not reachable' }]]);
    const snapshot = snapshotOf({ autoscale: auto({ rules: [ASKED] }), replicas: two });
    const { turn } = planDeployment(snapshot, answers);
    expect(turn).toMatchObject({ wanted: 2, fired: null });
    expect(turn.decision?.because).toBe('no rule asks for a change; asked is missing: Prometheus is not reachable');
  });

  test('a decision that says the same again is not kept again, whatever its numbers', () => {
    const autoscale = auto({ rules: [BUSY] });
    const snapshot = snapshotOf({ autoscale, metrics: { busy: 4 }, replicas: two });
    const left = after(snapshot, planDeployment(snapshot));
    expect(planDeployment({ ...left, metrics: { busy: 5 } }).turn.decision).toBeNull();
    expect(planDeployment({ ...left, metrics: {} }).turn.decision).not.toBeNull();
  });
});

test('at rest it is looked at by kicks alone; with rules, failures, or somebody who leaves, by the net', () => {
  expect(plan({ replicas: two })).toMatchObject({ isAtRest: true, nextMs: null, isWorkDue: false });
  expect(plan({ replicas: two, autoscale: auto({ rules: [BUSY] }) }).isAtRest).toBe(false);
  expect(plan({ replicas: two, failures: { 1: { inARow: 1, lastMs: NOW } } }).isAtRest).toBe(false);
  expect(plan({ replicas: [...two, row('c', { route: 'DRAINING', drainingMs: NOW })] }).isAtRest).toBe(false);
});

test('its details say counts, rollout, back-off and who does not serve', () => {
  const snapshot = snapshotOf({
    rollout: rolloutTo(2),
    replicas: [...two, row('n', { ...dead(), revision: 2, createdMs: NOW - 1_000, servingMs: null })],
    failures: { 2: { inARow: 1, lastMs: NOW - 2_000 } },
  });
  const details = turnDetails(snapshot, planDeployment(snapshot));
  expect(details).toContain('wanted 2, live 2, serving 2');
  expect(details).toContain('Rollout to revision 2: revision 2: 0 of 2 serve');
  expect(details).toContain('Revision 2: 2 failures in a row');
  expect(details).toContain('The next replica in 10 s');
  expect(details).toContain('it exited with 1');
});
