import { expect, test } from 'vitest';
import type { SnapshotRunning } from '../../src/contract/snapshot.js';
import { drainPlan } from '../../src/scheduler/drain-plan.js';
import { NOW, node, sessionId, snapshot } from './build.js';
import { at, running } from './build-running.js';

const plan = (sessions: readonly SnapshotRunning[], deadline: string | null = null) =>
  drainPlan(snapshot({ nodes: [node('node-a')], pending: [], running: sessions }), { node: 'node-a', deadline }, NOW);

/** Started `ago` hours before with a minimum runtime of `min` hours, and no grace. */
const hours = (n: number, ago: number, min: number, nodes = ['node-a']): SnapshotRunning =>
  running(n, {
    startedAt: at(-60 * ago),
    minRuntimeSeconds: 3600 * min,
    gracePeriodSeconds: 0,
    rooms: nodes.map((name) => ({ node: name })),
  });

test('a drain is over when the last minimum runtime is: worked example 12 of the budgets', () => {
  const sessions = [hours(1, 9, 0), hours(2, 3, 4), hours(3, 1.5, 4)];
  expect(plan(sessions).emptyAt).toBe(at(150));
  expect(plan(sessions).stops.map(({ stopAt }) => stopAt)).toEqual([NOW, at(60), at(150)]);
});

test('a gang over two nodes holds it until its own minimum runtime is over', () => {
  expect(plan([hours(1, 1, 6, ['node-a', 'node-b'])]).emptyAt).toBe(at(300));
});

test('each line says who, when, and why; the grace period comes on top', () => {
  const session = running(4, {
    minRuntimeSeconds: 3660,
    gracePeriodSeconds: 60,
    rooms: [{ node: 'node-a', devices: ['node-a-0', 'node-a-1'] }],
  });
  expect(plan([session])).toEqual({
    node: 'node-a',
    emptyAt: at(2),
    stops: [
      {
        ...{ sessionId: sessionId(4), name: 'r4', user: 'usr_alice', project: 'prj_vision', gpuCount: 2 },
        ...{ stopAt: at(1), goneBy: at(2), then: 'requeue', breaksMinRuntime: false },
        because: `its minimum runtime of 3660 s ends at ${at(1)}`,
      },
    ],
  });
});

test('the deadline stops what is protected, and says by how much', () => {
  const [line] = plan([hours(1, 3, 4)], at(30)).stops;
  expect(line).toMatchObject({ stopAt: at(30), breaksMinRuntime: true });
  expect(line?.because).toContain('1800 s before the end of its minimum runtime of 14400 s');
});

test('a node that holds nothing is empty; sessions elsewhere do not count', () => {
  expect(plan([hours(1, 1, 6, ['node-b'])])).toEqual({ node: 'node-a', emptyAt: null, stops: [] });
});

test('one that ends already is gone when it said, one that starts counts from now', () => {
  const starting = running(2, { startedAt: null, minRuntimeSeconds: 600 });
  const { stops, emptyAt } = plan([starting, running(1, { goneBy: at(1) })]);
  expect(stops.map(({ name, goneBy }) => [name, goneBy])).toEqual([
    ['r1', at(1)],
    ['r2', at(10 + 10 / 60)],
  ]);
  expect(emptyAt).toBe(at(10 + 10 / 60));
});
