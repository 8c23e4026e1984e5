import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { SessionId } from '../../src/contract/index.js';
import { GIB } from '../store/ledger.js';
import { type ControlPlane, startControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';
import { allowPreemption, behaveAgain, gpus, running, setPolicy, statesOf, stop, stopAll } from './course.js';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
});
afterAll(() => plane.stop());
beforeEach(() => allowPreemption(plane));
afterEach(async () => {
  behaveAgain(plane);
  await stopAll(plane);
  await plane.settled();
  expect([...plane.node.running]).toEqual([]);
});

const LOW = { priority: 10, gracePeriodSeconds: 1 } as const;
const HIGH = { priority: 50 } as const;
const FOREVER = { priority: 10, gracePeriodSeconds: 120 } as const;

const startLow = async (change: Parameters<typeof gpus>[1] = LOW): Promise<SessionId> => {
  const id = await plane.submit(gpus(4, change));
  await running(plane, id);
  return id;
};
const logOf = async (id: SessionId): Promise<string[]> => {
  const kernels = (await plane.session(id)).kernels.map((kernel) => kernel.id);
  return plane.node.log.filter((line) => kernels.some((kernel) => line.includes(kernel)));
};

describe('a session that is preempted', () => {
  test('leaves within its grace, waits at its original place, and runs again as attempt 2', async () => {
    const low = await startLow();
    const { submittedAt } = await plane.session(low);
    const later = await plane.submit(gpus(4, LOW));
    plane.node.behaviour.exitAfterNoticeMs = 50;
    plane.node.behaviour.exitCode = 143;
    const high = await plane.submit(gpus(4, HIGH));
    await running(plane, high);
    expect(await plane.session(low)).toMatchObject({ state: 'PENDING', attempt: 1, submittedAt, startedAt: null });
    await stop(plane, high);
    await running(plane, low, 2);
    expect((await plane.session(later)).state).toBe('PENDING');
    const [once, again] = [
      ['SCHEDULED', 'PREPARING', 'RUNNING', 'PREEMPTING', 'PENDING'],
      ['SCHEDULED', 'PREPARING', 'RUNNING'],
    ];
    expect(await statesOf(plane, low)).toEqual(['PENDING', ...once, ...again]);
  });

  test('and ignores its notice is killed when its grace is over', async () => {
    const low = await startLow();
    const high = await plane.submit(gpus(4, HIGH));
    await running(plane, high);
    const [kernel] = (await plane.session(low)).kernels;
    expect(await logOf(low)).toEqual([
      `start ${kernel?.id}`,
      `notice ${kernel?.id} of 1000 ms`,
      `remove ${kernel?.id} within 0 ms`,
    ]);
  });

  test('and cannot be told is killed when its grace is over, and nobody waits longer for it', async () => {
    const low = await startLow();
    plane.node.behaviour.failNotices = 100;
    const high = await plane.submit(gpus(4, HIGH));
    await running(plane, high);
    expect((await logOf(low)).at(-1)).toContain('within 0 ms');
  });

  test('ends as preempted where the group says terminate', async () => {
    await allowPreemption(plane, { mode: 'terminate' });
    const low = await startLow();
    const high = await plane.submit(gpus(4, HIGH));
    await running(plane, high);
    expect(await plane.until(low, 'TERMINATED')).toMatchObject({ cause: 'preempted', attempt: 1 });
  });

  test('and exits with 0 at its notice is not done: it waits, and runs again', async () => {
    const low = await startLow();
    plane.node.behaviour.exitAfterNoticeMs = 50;
    const high = await plane.submit(gpus(4, HIGH));
    await running(plane, high);
    expect(await plane.until(low, 'PENDING')).toMatchObject({ result: 'none', attempt: 1 });
  });

  test('and is stopped by its user in its grace ends there, without the rest of the grace', async () => {
    const low = await startLow(FOREVER);
    const high = await plane.submit(gpus(4, HIGH));
    await plane.until(low, 'PREEMPTING');
    await eventually('it has notice', async () => (await logOf(low)).some((line) => line.startsWith('notice')));
    await stop(plane, low, 0);
    expect(await plane.until(low, 'TERMINATED')).toMatchObject({ cause: 'user-stop', result: 'stopped' });
    await running(plane, high);
  });

  test('shows in Temporal that it leaves, and why it waits again', async () => {
    const low = await startLow(FOREVER);
    const high = await plane.submit(gpus(4, HIGH));
    await plane.until(low, 'PREEMPTING');
    const shown = async () => {
      const { searchAttributes } = await plane.client.workflow.getHandle(`session/${low}`).describe();
      return [searchAttributes?.['BerthStatus']?.[0], searchAttributes?.['BerthReason']?.[0]].join(' ');
    };
    await eventually('it shows', async () => (await shown()) === 'PREEMPTING preempted');
    const [kernel] = (await plane.session(low)).kernels;
    const exited = { kind: 'exited', exitCode: 143, oomKilled: false, engineLost: false, logTail: '' } as const;
    const at = { kernelId: kernel?.id as never, attempt: 1, finishedAt: new Date().toISOString() };
    await plane.node.report({ ...exited, ...at });
    await running(plane, high);
    await eventually('it shows that it waits', async () => (await shown()).startsWith('PENDING'));
  });
});

test('a gang is stopped whole, though half of its room would do', async () => {
  const worker = { role: 'worker', slots: { cpuMilli: 500, memoryBytes: GIB, gpuCount: 2 } };
  const gang = await plane.submit({ ...LOW, kernels: [{ ...worker, role: 'main' }, worker] });
  await running(plane, gang);
  const high = await plane.submit(gpus(2, HIGH));
  await running(plane, high);
  expect((await plane.session(gang)).state).toBe('PENDING');
  expect((await logOf(gang)).filter((line) => line.startsWith('remove'))).toHaveLength(2);
});

test('a worker that leaves at once does not cut short the grace of the main kernel', async () => {
  const worker = { role: 'worker', slots: { cpuMilli: 500, memoryBytes: GIB, gpuCount: 2 } };
  const gang = await plane.submit({ ...LOW, gracePeriodSeconds: 3, kernels: [{ ...worker, role: 'main' }, worker] });
  await running(plane, gang);
  const kernelId = (await plane.session(gang)).kernels.find(({ role }) => role === 'worker1')?.id as never;
  const high = await plane.submit(gpus(4, HIGH));
  await plane.until(gang, 'PREEMPTING');
  const exited = { kind: 'exited', exitCode: 143, oomKilled: false, engineLost: false, logTail: '' } as const;
  await plane.node.report({ ...exited, kernelId, attempt: 1, finishedAt: new Date().toISOString() });
  await running(plane, high);
  const events = await plane.store.events.ofSession(gang, null, 100);
  const [toldAt, goneAt] = ['PREEMPTING', 'PENDING'].map((state) =>
    Date.parse(events.findLast(({ to }) => to === state)?.at ?? ''),
  );
  expect(goneAt! - toldAt!).toBeGreaterThanOrEqual(3_000);
});

test('the room is kept for whom it was made, also when somebody with more priority comes meanwhile', async () => {
  const low = await startLow({ ...LOW, gracePeriodSeconds: 2 });
  const high = await plane.submit(gpus(4, { ...HIGH, minRuntimeSeconds: 60 }));
  await plane.until(low, 'PREEMPTING');
  const higher = await plane.submit(gpus(4, { priority: 90 }));
  await running(plane, high);
  expect((await plane.session(higher)).state).toBe('PENDING');
});

test('nobody is stopped within the minimum runtime, and everybody after it', async () => {
  const low = await startLow({ ...LOW, minRuntimeSeconds: 2 });
  const { startedAt } = await plane.session(low);
  const high = await plane.submit(gpus(4, HIGH));
  await running(plane, high);
  const stopped = (await plane.store.events.ofSession(low, null, 100)).find(({ to }) => to === 'PREEMPTING');
  expect(Date.parse(stopped?.at ?? '') - Date.parse(startedAt ?? '')).toBeGreaterThanOrEqual(2_000);
});

test('nobody is stopped where the group does not allow it', async () => {
  await setPolicy(plane, { preemption: { enabled: false, mode: 'requeue', scope: 'user', order: 'newest' } });
  const low = await startLow();
  await plane.submit(gpus(4, HIGH));
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect((await plane.session(low)).state).toBe('RUNNING');
});
