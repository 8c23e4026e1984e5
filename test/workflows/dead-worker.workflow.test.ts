import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { groupWorkflowId } from '../../src/lifecycle/names.js';
import { type ControlPlane, startControlPlane } from '../support/control-plane.js';
import { endChild, eventually } from '../support/process.js';

/** `temporal.api.enums.v1.EventType` */
const ACTIVITY_TASK_COMPLETED = 12;
const WORKFLOW_TASK_TIMED_OUT = 8;
const TIMER_STARTED = 17;
const GROUP = 'default';

let plane: ControlPlane;
let dir: string;
beforeAll(async () => {
  plane = await startControlPlane({ worker: false, durations: { slowNetMs: 600_000 } }); // no timer ends in between
  dir = mkdtempSync(join(tmpdir(), 'berth-test-dead-worker-'));
  writeFileSync(join(dir, 'seal'), randomBytes(32).toString('base64'), { mode: 0o600 });
});
afterAll(async () => {
  await plane.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** A control worker as a process of its own: it can be killed. */
async function startWorker(): Promise<ChildProcess> {
  const env = {
    ...process.env,
    DATABASE_URL: plane.url,
    BERTH_TEMPORAL_ADDRESS: plane.temporal.address,
    BERTH_BUILD_ID: 'test',
    BERTH_SEALING_KEY_FILE: join(dir, 'seal'),
  };
  const args = ['--import', 'tsx', 'workers/control.ts'];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await eventually('it is the current version', () => said.includes('current version of the deployment'), 90);
  return child;
}

async function eventTypes(): Promise<readonly number[]> {
  const { events } = await plane.client.workflow.getHandle(groupWorkflowId(GROUP)).fetchHistory();
  return (events ?? []).map(({ eventType }) => eventType ?? 0);
}
const passes = async (): Promise<number> =>
  (await eventTypes()).filter((type) => type === ACTIVITY_TASK_COMPLETED).length;

async function pass(): Promise<void> {
  const before = await passes().catch(() => 0);
  await plane.door.kickGroup(GROUP);
  await eventually('the group has planned', async () => (await passes()) > before);
}

test('a group does not wait for the control worker that died with it', async () => {
  const first = await startWorker();
  await pass();
  await eventually('the group is at rest', async () => (await eventTypes()).at(-1) === TIMER_STARTED);
  await endChild(first, 'SIGKILL');
  const second = await startWorker();
  try {
    await pass();
    expect(await eventTypes()).not.toContain(WORKFLOW_TASK_TIMED_OUT);
  } finally {
    await endChild(second, 'SIGKILL');
  }
});
