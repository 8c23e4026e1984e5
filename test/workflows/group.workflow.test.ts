import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kickGroup } from '../../activities/control/kick.js';
import { planGroup } from '../../activities/control/planning.js';
import { DEFAULT_DURATIONS } from '../../src/lifecycle/durations.js';
import { createTemporalDoor } from '../../src/temporal/create-temporal-door.js';
import { type ControlPlane, runWorker, startControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';

describe('on a whole control plane', () => {
  let plane: ControlPlane;
  let dropped = 0;
  let drops = 0;
  let commitsToFail = 0;
  beforeAll(async () => {
    plane = await startControlPlane({
      bend: ({ store, door }) => ({
        door: {
          ...door,
          async signalSession(signal) {
            if (signal.kind !== 'placed' || dropped >= drops) return door.signalSession(signal);
            dropped += 1;
            return false;
          },
        },
        store: {
          ...store,
          planning: {
            ...store.planning,
            async openPass(group, waitMs) {
              const pass = await store.planning.openPass(group, waitMs);
              if (pass === null || commitsToFail === 0) return pass;
              commitsToFail -= 1;
              return { ...pass, commit: () => Promise.reject(new Error('killed between plan and commit')) };
            },
          },
        },
      }),
    });
    plane.node.behaviour.exitAfterMs = 20;
  });
  afterAll(() => plane.stop());

  test('a placed signal dropped after the commit is sent again from the row', async () => {
    dropped = 0;
    drops = 1;
    const id = await plane.submit();
    expect(await plane.until(id, 'TERMINATED')).toMatchObject({ result: 'success' });
    expect(dropped).toBe(1);
    await plane.settled();
  });

  test('a planner killed between plan and commit leaves nothing, and the next places', async () => {
    commitsToFail = 2;
    const id = await plane.submit();
    expect(await plane.until(id, 'TERMINATED')).toMatchObject({ result: 'success' });
    expect(commitsToFail).toBe(0);
    await plane.settled();
  });

  test('1,000 kicks at once cost few signals and lose nothing', async () => {
    const kicks = Array.from({ length: 1000 }, () => kickGroup(plane.dependencies, 'default'));
    const id = await plane.submit();
    await Promise.all(kicks);
    expect(await plane.until(id, 'TERMINATED')).toMatchObject({ result: 'success' });
    const { events } = await plane.client.workflow.getHandle('group/default').fetchHistory();
    expect((events ?? []).length).toBeLessThan(1000);
  });

  test('two planners at once book each device once', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => plane.submit()));
    await Promise.all(Array.from({ length: 6 }, () => planGroup(plane.dependencies, 'default')));
    for (const id of ids) expect(await plane.until(id, 'TERMINATED')).toMatchObject({ result: 'success' });
    await plane.settled();
  });
});

describe('over the end of its run', () => {
  let temporal: TestTemporal;
  const passes: number[] = [];
  let stopWorker: () => Promise<void>;
  beforeAll(async () => {
    temporal = await startTestTemporal({ dynamicConfig: ['limit.historyCount.suggestContinueAsNew=12'] });
    const plan = async () => {
      passes.push(Date.now());
      await new Promise((resolve) => setTimeout(resolve, 150));
      return { outcome: 'planned', placed: 0, waiting: 0, again: false, nextWakeMs: null, head: 'empty' } as const;
    };
    stopWorker = await runWorker({
      address: temporal.address,
      namespace: temporal.namespace,
      dependencies: { store: { sessions: {}, nodes: {} } } as never,
      wrap: () => ({ plan }) as never,
    });
  });
  afterAll(async () => {
    await stopWorker();
    await temporal.stop();
  });

  test('a kick during the last pass is carried, and no kick is lost', async () => {
    // The slow net is an hour away: what plans here was kicked.
    const durations = { ...DEFAULT_DURATIONS, slowNetMs: 3_600_000 };
    const door = createTemporalDoor({ address: temporal.address, namespace: temporal.namespace, durations });
    await door.kickGroup('g');
    for (let burst = 0; burst < 8; burst += 1) {
      const seen = passes.length;
      await eventually('a pass begins', () => passes.length > seen || burst === 0, 10);
      await new Promise((resolve) => setTimeout(resolve, 40)); // in the middle of it
      const kickedAt = Date.now();
      await door.kickGroup('g');
      await eventually(`kick ${burst} is followed by a pass`, () => (passes.at(-1) ?? 0) > kickedAt, 10);
      await door.kickGroup('g');
    }
    expect(passes.length).toBeGreaterThan(8);
    await door.close();
  });
});
