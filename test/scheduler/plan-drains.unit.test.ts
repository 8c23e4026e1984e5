import { expect, test } from 'vitest';
import type { SnapshotNode, SnapshotRunning } from '../../src/contract/snapshot.js';
import { planDrains } from '../../src/scheduler/plan-drains.js';
import { NOW, node, snapshot } from './build.js';
import { at, running } from './build-running.js';

const draining = (name: string, deadline: string | null = null): SnapshotNode => ({
  ...node(name, { state: 'DRAINING' }),
  drain: { since: at(-5), deadline },
});
const planned = (
  nodes: readonly SnapshotNode[],
  sessions: readonly SnapshotRunning[] = [],
  policy: NonNullable<Parameters<typeof snapshot>[0]['policy']> = {},
) => planDrains(snapshot({ nodes, pending: [], running: sessions, policy }), NOW);

const protectedFor = (minutes: number) => ({ minRuntimeSeconds: 3600 + minutes * 60 });

test('work past its minimum runtime is stopped, and goes back to the queue', () => {
  const { stops } = planned([draining('node-a')], [running(1, { gracePeriodSeconds: 30 })]);
  expect(stops).toEqual([
    expect.objectContaining({
      ...{ sessionId: running(1).id, version: 3, attempt: 1, cause: 'drained', forSessionId: null },
      ...{ then: 'requeue', graceSeconds: 30, breaksMinRuntime: false },
      message: 'node node-a drains, and it has no minimum runtime',
    }),
  ]);
});

test('it ends where the policy ends what is stopped', () => {
  const preemption = { enabled: false, mode: 'terminate', scope: 'user', order: 'newest' } as const;
  expect(planned([draining('node-a')], [running(1)], { preemption }).stops[0]?.then).toBe('end');
});

test('protected work stays until its minimum runtime ends, and the pass is woken then', () => {
  expect(planned([draining('node-a')], [running(1, protectedFor(7))])).toMatchObject({
    stops: [],
    nextWakeAt: at(7),
  });
});

test('work that may not be preempted leaves a draining node all the same', () => {
  expect(planned([draining('node-a')], [running(1, { preemptible: false })]).stops).toHaveLength(1);
});

test('at the deadline protected work is stopped too, and its contract is broken', () => {
  const { stops } = planned([draining('node-a', at(0))], [running(1, protectedFor(7)), running(2)]);
  expect(stops.map((stop) => stop.breaksMinRuntime)).toEqual([true, false]);
  expect(stops[0]?.message).toContain('420 s before the end of its minimum runtime of 4020 s');
});

test('before the deadline the pass is woken for it', () => {
  expect(planned([draining('node-a', at(3))], [running(1, protectedFor(7))]).nextWakeAt).toBe(at(3));
});

test('one that starts is left alone until it runs', () => {
  expect(planned([draining('node-a')], [running(1, { startedAt: null })])).toMatchObject({
    stops: [],
    nextWakeAt: null,
  });
});

test('one that starts is stopped at the deadline', () => {
  const starting = running(1, { startedAt: null, minRuntimeSeconds: 60 });
  expect(planned([draining('node-a', at(3))], [starting]).nextWakeAt).toBe(at(3));
  expect(planned([draining('node-a', at(-1))], [starting]).stops[0]?.breaksMinRuntime).toBe(true);
});

test('a gang that lies on the node in part is stopped once and whole; the earliest deadline counts', () => {
  const gang = running(1, { rooms: [{ node: 'node-a' }, { node: 'node-b' }], ...protectedFor(7) });
  expect(planned([draining('node-a'), draining('node-b', at(-1))], [gang]).stops).toHaveLength(1);
});

test('one that ends already is not stopped again, and its node is not empty yet', () => {
  expect(planned([draining('node-a')], [running(1, { goneBy: at(1) })])).toMatchObject({ stops: [], drained: [] });
});

test('a node that drains and holds nothing is told as drained, once', () => {
  const done = { ...draining('node-b'), state: 'DRAINED' as const };
  expect(planned([draining('node-a'), done, node('node-c')]).drained).toEqual(['node-a']);
});

test('work on a lost node ends with the node', () => {
  const lost = { ...draining('node-a'), state: 'LOST' as const };
  expect(planned([lost], [running(1)])).toMatchObject({ stops: [], drained: [] });
});

test('others are left alone', () => {
  const free = running(1, { rooms: [{ node: 'node-b' }] });
  expect(planned([draining('node-a'), node('node-b')], [free]).stops).toEqual([]);
});

const moving = (minutes: number): SnapshotNode => ({ ...node('node-a'), moveAt: at(minutes) });

test('the drain for a move begins a grace period and a margin before it', () => {
  const held = [running(1, { gracePeriodSeconds: 90 }), running(2)];
  expect(planned([moving(3)], held)).toMatchObject({ drains: [], nextWakeAt: at(1) });
  const { drains } = planned([moving(2)], held);
  expect(drains).toEqual([{ node: 'node-a', message: expect.stringContaining('it holds 2 sessions') as string }]);
  expect(drains[0]?.message).toContain('the longest grace period is 90 s');
});

test('work whose minimum runtime ends in time is no reason to begin earlier', () => {
  expect(planned([moving(60)], [running(1, protectedFor(59))])).toMatchObject({
    drains: [],
    nextWakeAt: at(60 - 40 / 60),
  });
});

test('a move of an empty node begins a margin before it, and of one that drains already not at all', () => {
  expect(planned([moving(0.5)]).drains).toHaveLength(1);
  const drains = { ...draining('node-a'), moveAt: at(0.1) };
  expect(planned([drains], [running(1, { goneBy: at(1) })])).toMatchObject({ drains: [], nextWakeAt: at(0.1) });
});
