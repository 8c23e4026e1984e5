import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { SessionId } from '../../src/contract/index.js';
import { type ControlPlane, startControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';
import { behaveAgain, gpus, running, setPolicy, stop, stopAll } from './course.js';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ durations: { slowNetMs: 60_000 } }); // what happens here has its own wake or kick
});
afterAll(() => plane.stop());
afterEach(async () => {
  behaveAgain(plane);
  await stopAll(plane);
  await plane.door.kickGroup('default'); // a pass folds what was released in
  await plane.settled();
});

const closed = (id: SessionId) =>
  eventually('its workflow ends', async () => (await plane.door.sessionWorkflowState(id)) === 'closed');
const after = (session: SessionId, onFailure: 'cancel' | 'fail' | 'ignore' = 'cancel') => ({
  dependsOn: [{ session, onFailure }],
});

describe('a session that depends on another', () => {
  test('starts when that one has succeeded, and not before', async () => {
    const first = await plane.submit(gpus(1));
    await running(plane, first);
    const second = await plane.submit(gpus(1, after(first)));
    await eventually('it says so', async () => (await plane.session(second)).reason === 'dependency_pending');
    const [kernel] = (await plane.session(first)).kernels;
    const exited = { kind: 'exited', exitCode: 0, oomKilled: false, engineLost: false, logTail: '' } as const;
    const of = { kernelId: kernel?.id as never, attempt: 1, finishedAt: new Date().toISOString() };
    await plane.node.report({ ...exited, ...of });
    await running(plane, second);
  });

  test.each([
    ['cancel', 'CANCELLED'],
    ['fail', 'ERROR'],
  ] as const)('that failed ends without a run: %s', async (onFailure, state) => {
    const first = await plane.submit(gpus(1));
    await running(plane, first);
    const second = await plane.submit(gpus(1, after(first, onFailure)));
    const third = await plane.submit(gpus(1, after(second)));
    await stop(plane, first, 0);
    expect(await plane.until(second, state)).toMatchObject({ cause: 'dependency-failed', startedAt: null });
    expect(await plane.until(third, 'CANCELLED')).toMatchObject({ cause: 'dependency-failed' });
    await closed(second);
    await closed(third);
  });

  test('that failed starts all the same where it ignores that', async () => {
    const first = await plane.submit(gpus(1));
    await running(plane, first);
    const second = await plane.submit(gpus(1, after(first, 'ignore')));
    await stop(plane, first, 0);
    await running(plane, second);
  });

  test('that is cancelled while it waits is told as well', async () => {
    const first = await plane.submit(gpus(1, { startsAt: '2100-01-01T00:00:00.000Z' }));
    const second = await plane.submit(gpus(1, after(first)));
    await stop(plane, first);
    expect(await plane.until(second, 'CANCELLED')).toMatchObject({ cause: 'dependency-failed' });
  });
});

test('a session with a start time starts then, and no one behind it waits for that', async () => {
  const startsAt = new Date(Date.now() + 4_000).toISOString();
  const planned = await plane.submit(gpus(2, { startsAt, priority: 50 }));
  const other = await plane.submit(gpus(2));
  await running(plane, other);
  expect(await plane.session(planned)).toMatchObject({ state: 'PENDING', reason: 'scheduled_start' });
  await running(plane, planned);
  expect(Date.parse((await plane.session(planned)).placedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(startsAt));
});

test('a session that waits for longer than its group lets it is cancelled with the reason', async () => {
  await setPolicy(plane, { maxWaitSeconds: 2 });
  const holder = await plane.submit(gpus(4));
  await running(plane, holder);
  const waiter = await plane.submit(gpus(1));
  expect(await plane.until(waiter, 'CANCELLED')).toMatchObject({ cause: 'max-wait' });
  await closed(waiter);
  await setPolicy(plane, { maxWaitSeconds: null });
});

test('with backfill a short session runs ahead of who waits for room, whose own start it does not delay', async () => {
  await setPolicy(plane, { backfill: 'easy' });
  const long = await plane.submit(gpus(3, { maxRuntimeSeconds: 20, gracePeriodSeconds: 0 }));
  await running(plane, long);
  const blocked = await plane.submit(gpus(4));
  await eventually('it waits', async () => (await plane.session(blocked)).reason === 'insufficient_capacity');
  const tooLong = await plane.submit(gpus(1, { maxRuntimeSeconds: 600, gracePeriodSeconds: 0, preemptible: false }));
  const short = await plane.submit(gpus(1, { maxRuntimeSeconds: 2, gracePeriodSeconds: 0 }));
  expect(await plane.until(short, 'TERMINATED')).toMatchObject({ cause: 'max-runtime' });
  expect(await plane.session(tooLong)).toMatchObject({ state: 'PENDING', reason: 'delays_reservation' });
  expect((await plane.session(blocked)).expectedStart?.at).not.toBeNull();
  await stop(plane, long, 0);
  await running(plane, blocked);
  await setPolicy(plane, { backfill: 'none' });
});
