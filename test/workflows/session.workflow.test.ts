import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { CreateSessionInput, SessionId } from '../../src/contract/index.js';
import { GIB } from '../store/ledger.js';
import { type ControlPlane, startControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
});
afterAll(() => plane.stop());
afterEach(async () => {
  for (const key of Object.keys(plane.node.behaviour))
    delete plane.node.behaviour[key as keyof typeof plane.node.behaviour];
  await plane.settled();
  expect([...plane.node.running]).toEqual([]);
});

const gpus = (gpuCount: number): Partial<CreateSessionInput> => ({
  kernels: [{ role: 'main', slots: { cpuMilli: 500, memoryBytes: GIB, gpuCount } }],
});
const ONCE = { retry: { maxAttempts: 1 } };
const userStop = (sessionId: SessionId) =>
  plane.store.sessions
    .requestStop({ sessionId, cause: 'user-stop', actor: 'admin', message: 'enough', graceMs: null, force: false })
    .then(async (stopped) => {
      if (stopped !== null) await plane.door.signalSession({ sessionId, kind: 'stop', attempt: stopped.attempt });
      return stopped;
    });
const removedLast = () => plane.node.log.filter((line) => line.startsWith('remove')).length;

describe('a batch session', () => {
  test('runs, exits with 0 and gives everything back', async () => {
    plane.node.behaviour.exitAfterMs = 50;
    const ended = await plane.until(await plane.submit(), 'TERMINATED');
    expect(ended).toMatchObject({ result: 'success', exitCode: 0, cause: 'completed' });
  });

  test('that exits with 3 is its own failure', async () => {
    Object.assign(plane.node.behaviour, { exitAfterMs: 50, exitCode: 3 });
    const ended = await plane.until(await plane.submit(), 'TERMINATED');
    expect(ended).toMatchObject({ result: 'failure', exitCode: 3, cause: 'user-failure' });
  });

  test('costs six activities, at most three signals and three search-attribute upserts', async () => {
    plane.node.behaviour.exitAfterMs = 1_500; // after it was seen running
    const id = await plane.submit();
    await plane.until(id, 'TERMINATED');
    const counts = await plane.historyCounts(id);
    expect(counts).toMatchObject({ ACTIVITY_TASK_SCHEDULED: 6, UPSERT_WORKFLOW_SEARCH_ATTRIBUTES: 3 });
    expect(counts['WORKFLOW_EXECUTION_SIGNALED'] ?? 0).toBeLessThanOrEqual(3);
  });
});

describe('a stop', () => {
  test('of a waiting session cancels it without a container', async () => {
    const holder = await plane.submit(gpus(4));
    await plane.until(holder, 'RUNNING');
    const waiting = await plane.submit(gpus(1));
    expect(await userStop(waiting)).toMatchObject({ state: 'CANCELLED', changed: true });
    expect(await userStop(waiting)).toMatchObject({ state: 'CANCELLED', changed: false });
    expect(await plane.until(waiting, 'CANCELLED')).toMatchObject({ result: 'cancelled' });
    await eventually('its workflow ends', async () => (await plane.door.sessionWorkflowState(waiting)) === 'closed');
    await userStop(holder);
    await plane.until(holder, 'TERMINATED');
  });

  test('of a starting session cancels the start, then removes', async () => {
    plane.node.behaviour.hangStart = true;
    const id = await plane.submit();
    await plane.until(id, 'PREPARING');
    const before = removedLast();
    await userStop(id);
    expect(await plane.until(id, 'CANCELLED', 'TERMINATED')).toMatchObject({ cause: 'user-stop' });
    expect(removedLast()).toBe(before + 1);
  });

  test('of a running session ends it as stopped, and a second one changes nothing', async () => {
    const id = await plane.submit();
    await plane.until(id, 'RUNNING');
    await userStop(id);
    await userStop(id);
    expect(await plane.until(id, 'TERMINATED')).toMatchObject({ result: 'stopped', cause: 'user-stop' });
    expect(await userStop(id)).toMatchObject({ changed: false });
  });
});

test.each([
  ['told at once', true],
  ['sent again from the row', false],
])('a kill ends without the grace: %s', async (_title, tell) => {
  const sessionId = await plane.submit();
  await plane.until(sessionId, 'RUNNING');
  const kill = { sessionId, cause: 'user-stop', actor: 'admin', message: '', graceMs: 0, force: true } as const;
  const stopped = await plane.store.sessions.requestStop(kill);
  if (tell) await plane.door.signalSession({ sessionId, kind: 'stop', attempt: stopped?.attempt ?? 0, graceMs: 0 });
  else {
    const due = await plane.store.planning.dueSignals({ olderThanMs: -1_000, limit: 100 });
    for (const signal of due) await plane.door.signalSession(signal);
  }
  await plane.until(sessionId, 'TERMINATED');
  expect(plane.node.log.at(-1)).toContain('within 0 ms');
});

test('a kill after a stop does not wait for the grace of the stop', async () => {
  const sessionId = await plane.submit({ gracePeriodSeconds: 600 });
  await plane.until(sessionId, 'RUNNING');
  plane.node.behaviour.ignoresTerm = true;
  const asked = { sessionId, cause: 'user-stop', actor: 'admin', message: '' } as const;
  const told = { sessionId, kind: 'stop', attempt: 1 } as const;
  await plane.store.sessions.requestStop({ ...asked, graceMs: null, force: false });
  await plane.door.signalSession(told);
  await eventually('its removal is under way', () => plane.node.removing.has(sessionId));
  await plane.store.sessions.requestStop({ ...asked, graceMs: 0, force: true });
  await plane.door.signalSession({ ...told, graceMs: 0 });
  await plane.until(sessionId, 'TERMINATED');
  plane.node.behaviour.ignoresTerm = false;
});

describe('a failed start', () => {
  test('releases the node, then the ledger, then wakes the next', async () => {
    const failure = { cause: 'bad-command', whose: 'user', message: 'no such program' } as const;
    plane.node.behaviour.failStart = failure;
    const alice = await plane.submit(gpus(4));
    const bob = await plane.submit(gpus(1));
    const failed = await plane.until(alice, 'ERROR');
    delete plane.node.behaviour.failStart;
    expect(failed).toMatchObject({
      cause: 'bad-command',
      message: expect.stringContaining('no such program') as string,
    });
    await plane.until(bob, 'RUNNING', 'ERROR');
    const states = (await plane.store.events.ofSession(alice, null, 100)).filter(({ kind }) => kind === 'state');
    expect(states.map(({ to }) => to)).toEqual(['PENDING', 'SCHEDULED', 'PREPARING', 'TERMINATING', 'ERROR']);
    await userStop(bob);
    await plane.until(bob, 'TERMINATED', 'ERROR', 'CANCELLED');
  });

  test('past its start deadline is the platform’s failure', async () => {
    plane.node.behaviour.hangStart = true;
    const ended = await plane.until(await plane.submit({ ...ONCE, startDeadlineSeconds: 0.5 }), 'ERROR');
    expect(ended).toMatchObject({ cause: 'start-deadline', result: 'platform-failure' });
  });

  test('that its node refuses as too late, before the timer fires, says so', async () => {
    plane.node.behaviour.startsTooLate = true;
    const id = await plane.submit(ONCE);
    expect(await plane.until(id, 'ERROR')).toMatchObject({ cause: 'start-deadline', result: 'platform-failure' });
    const events = await plane.store.events.ofSession(id, null, 100);
    expect(events.find(({ to }) => to === 'TERMINATING')?.cause).toBe('start-deadline');
  });
});

describe('deadlines', () => {
  test('maxRuntime ends a session with the reason', async () => {
    const ended = await plane.until(await plane.submit({ maxRuntimeSeconds: 0.5 }), 'TERMINATED');
    expect(ended.cause).toBe('max-runtime');
  });

  test('a health check that never succeeds ends it', async () => {
    const ended = await plane.until(
      await plane.submit({ healthCheck: { port: 80, initialDelaySeconds: 0.5 } }),
      'TERMINATED',
      'ERROR',
    );
    expect(ended.cause).toBe('health-check');
  });

  test('a first success meets the health deadline; too many misses later end the session', async () => {
    const id = await plane.submit({ healthCheck: { port: 80, initialDelaySeconds: 1.5 } });
    const { kernels } = await plane.until(id, 'RUNNING');
    const kernelId = kernels[0]?.id as never;
    await plane.node.report({ kind: 'health', kernelId, attempt: 1, healthy: true, message: '200' });
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(await plane.session(id)).toMatchObject({ state: 'RUNNING', health: 'healthy' });
    await plane.node.report({ kind: 'health', kernelId, attempt: 1, healthy: false, message: 'refused' });
    expect((await plane.until(id, 'TERMINATED')).cause).toBe('health-check');
  });
});

test('a removal that fails is tried again while the node is there', async () => {
  const id = await plane.submit();
  await plane.until(id, 'RUNNING');
  plane.node.behaviour.failRemovals = 5;
  await userStop(id);
  expect(await plane.until(id, 'TERMINATED')).toMatchObject({ result: 'stopped' });
});

test('a workflow cancelled in Temporal ends its session and releases', async () => {
  const id = await plane.submit();
  await plane.until(id, 'RUNNING');
  await plane.client.workflow.getHandle(`session/${id}`).cancel();
  expect(await plane.until(id, 'TERMINATED')).toMatchObject({ cause: 'operator-stop' });
});
