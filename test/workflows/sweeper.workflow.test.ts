import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sweepSignals, sweepWorkflows } from '../../activities/control/sweep.js';
import type { SessionId } from '../../src/contract/index.js';
import { markUp, tickUntil } from '../../workers/control-ticks.js';
import { GIB, submit, submitAndAdmit } from '../store/ledger.js';
import { type ControlPlane, startControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';
import { allowPreemption, gpus, running } from './course.js';

let plane: ControlPlane;
let client: pg.Client;
beforeAll(async () => {
  plane = await startControlPlane();
  client = new pg.Client({ connectionString: plane.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await plane.stop();
});

const workflowOf = (id: SessionId) => plane.client.workflow.getHandle(`session/${id}`);
const isClosed = (id: SessionId) => async () => (await plane.door.sessionWorkflowState(id)) === 'closed';
/** As if it were older than the sweeper's patience. */
const age = async (id: SessionId) => {
  await client.query(`UPDATE sessions SET created_at = created_at - interval '1 minute' WHERE id = $1`, [id]);
  await client.query(`UPDATE submissions SET submitted_at = submitted_at - interval '1 minute' WHERE session_id = $1`, [
    id,
  ]);
};
/** Terminated from outside, without a word to the ledger, and gone from the list of the open ones. */
async function loseWorkflow(id: SessionId): Promise<void> {
  await workflowOf(id).terminate('lost');
  await eventually('visibility knows', async () => {
    const open: string[] = [];
    for await (const one of plane.door.openSessionIds()) open.push(one);
    return !open.includes(id);
  });
  await age(id);
}
const stop = async (sessionId: SessionId) => {
  const asked = { sessionId, cause: 'user-stop', actor: 'admin', message: 'enough', graceMs: null, force: false };
  const stopped = await plane.store.sessions.requestStop(asked as never);
  await plane.door.signalSession({ sessionId, kind: 'stop', attempt: stopped?.attempt ?? 0 });
};

describe('an open row without a workflow', () => {
  test('that runs is taken over: its container goes on, is not started again, and ends as it does', async () => {
    const id = await plane.submit();
    const { kernels } = await plane.until(id, 'RUNNING');
    await loseWorkflow(id);
    expect((await sweepWorkflows(plane.dependencies)).takenOver).toBe(1);
    expect((await sweepWorkflows(plane.dependencies)).takenOver).toBe(0);
    const kernelId = kernels[0]?.id ?? '';
    expect(plane.node.running.has(kernelId)).toBe(true);
    expect((await plane.session(id)).state).toBe('RUNNING');
    await stop(id);
    expect(await plane.until(id, 'TERMINATED')).toMatchObject({ result: 'stopped' });
    expect(plane.node.log.filter((line) => line.includes(kernelId))).toEqual([
      `start ${kernelId}`,
      `remove ${kernelId} within 10000 ms`,
    ]);
    await plane.settled();
  });

  test('that is PREEMPTING is taken over: it has notice, its grace, and waits again', async () => {
    await allowPreemption(plane);
    const low = await plane.submit(gpus(4, { gracePeriodSeconds: 1 }));
    await plane.until(low, 'RUNNING');
    await plane.client.workflow.getHandle(`session/${low}`).terminate('lost');
    const high = await plane.submit(gpus(4, { priority: 50 }));
    await plane.until(low, 'PREEMPTING');
    await eventually('it is taken over', async () => {
      await age(low);
      return (await sweepWorkflows(plane.dependencies)).takenOver === 1;
    });
    await plane.until(high, 'RUNNING');
    const kernelId = (await plane.session(low)).kernels[0]?.id;
    expect(plane.node.log.filter((line) => line.includes(kernelId ?? '')).map((line) => line.split(' ')[0])).toEqual([
      'start',
      'notice',
      'remove',
    ]);
    await stop(high);
    await running(plane, low, 2);
    await stop(low);
    await plane.until(low, 'TERMINATED');
    await plane.settled();
  });

  test('that waits is taken over, and is placed when there is room', async () => {
    const slots = { cpuMilli: 500, memoryBytes: GIB, gpuCount: 4 };
    const holder = await plane.submit({ kernels: [{ role: 'main', slots }] });
    await plane.until(holder, 'RUNNING');
    const waiter = await plane.submit();
    await loseWorkflow(waiter);
    expect((await sweepWorkflows(plane.dependencies)).takenOver).toBe(1);
    await stop(holder);
    await plane.until(waiter, 'RUNNING');
    await stop(waiter);
    await plane.until(waiter, 'TERMINATED');
    await plane.settled();
  });

  test('that never had one gets one', async () => {
    const id = await submitAndAdmit(plane);
    await age(id);
    expect((await sweepWorkflows(plane.dependencies)).takenOver).toBe(1);
    await plane.until(id, 'RUNNING');
    await stop(id);
    await plane.until(id, 'TERMINATED');
  });
});

describe('an open workflow', () => {
  test('whose row has ended is closed, and what it held is removed', async () => {
    const id = await plane.submit();
    const { kernels } = await plane.until(id, 'RUNNING');
    await plane.store.control.endOrphan(id, 'workflow-lost');
    await eventually('the sweeper closes it', async () => (await sweepWorkflows(plane.dependencies)).closed > 0);
    await eventually('it is closed', isClosed(id));
    expect(plane.node.running.has(kernels[0]?.id ?? '')).toBe(false);
    await plane.settled();
  });

  test('whose row is not there, as after a restore of the ledger to an earlier moment, is closed', async () => {
    const slots = { cpuMilli: 500, memoryBytes: GIB, gpuCount: 4 };
    const holder = await plane.submit({ kernels: [{ role: 'main', slots }] });
    await plane.until(holder, 'RUNNING');
    const id = await plane.submit();
    for (const table of ['session_events', 'kernels', 'submissions'])
      await client.query(`DELETE FROM ${table} WHERE session_id = $1`, [id]);
    await client.query('DELETE FROM sessions WHERE id = $1', [id]);
    await eventually('it is closed', async () => {
      await sweepWorkflows(plane.dependencies);
      return isClosed(id)();
    });
    await stop(holder);
    await plane.until(holder, 'TERMINATED');
  });
});

describe('a submission without an answer', () => {
  test('whose workflow was never started is started, once', async () => {
    const id = await submit(plane);
    expect((await sweepSignals(plane.dependencies)).submitted).toBe(0);
    await age(id);
    expect((await sweepSignals(plane.dependencies)).submitted).toBe(1);
    await plane.until(id, 'RUNNING');
    expect((await sweepSignals(plane.dependencies)).submitted).toBe(0);
    await stop(id);
    await plane.until(id, 'TERMINATED');
  });

  test('whose workflow was ended from outside before the admission starts anew', async () => {
    const id = await submit(plane);
    await plane.client.workflow.start('sessionWorkflow', {
      workflowId: `session/${id}`,
      taskQueue: 'nobody-works-here',
      args: [{ sessionId: id, shown: false }],
    });
    await workflowOf(id).terminate('by hand');
    await age(id);
    await sweepSignals(plane.dependencies);
    await plane.until(id, 'RUNNING');
    await stop(id);
    await plane.until(id, 'TERMINATED');
  });
});

test('groups and nodes whose workflow was ended from outside get one again', async () => {
  for (const id of ['group/default', 'node/n1']) await plane.client.workflow.getHandle(id).terminate('by hand');
  await sweepWorkflows(plane.dependencies);
  for (const id of ['group/default', 'node/n1'])
    expect((await plane.client.workflow.getHandle(id).describe()).status.name).toBe('RUNNING');
});

describe('the uptime mark', () => {
  const marked = async () => (await client.query('SELECT marked_at FROM control_uptime')).rows[0]?.marked_at as Date;

  test('goes on while a sweep takes long', async () => {
    const ending = new AbortController();
    let release: () => void = () => undefined;
    const long = new Promise<null>((resolve) => {
      release = () => resolve(null);
    });
    const control = { ...plane.store.control, alone: () => long };
    const ticks = tickUntil({ ...plane.dependencies, store: { ...plane.store, control } }, ending.signal, 50);
    await eventually('it is marked', async () => (await marked()) !== undefined);
    const before = (await marked()).getTime();
    await eventually('it is marked again', async () => (await marked()).getTime() > before + 200);
    ending.abort();
    release();
    await ticks;
  });

  test('is made only while Temporal answers', async () => {
    await markUp(plane.dependencies);
    const before = await marked();
    await plane.temporal.kill();
    await expect(markUp(plane.dependencies)).rejects.toThrow();
    expect(await marked()).toEqual(before);
    await plane.temporal.start();
    await eventually('it is marked again', async () => {
      await markUp(plane.dependencies).catch(() => undefined);
      return (await marked()).getTime() > before.getTime();
    });
  });
});
