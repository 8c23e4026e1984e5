import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionId } from '../../src/contract/index.js';
import { deploymentWorkflowId, modelWorkflowId, poolWorkflowId, sessionWorkflowId } from '../../src/lifecycle/names.js';
import { type ControlPlane, historyOf, startControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';
import { AT_ONCE, allowPreemption, gpus, running, stop } from './course.js';
import { openPoolPlane } from './pool-plane.js';
import { openServePlane } from './serve-plane.js';

/**
 * Records one history of each course that a workflow takes, for the replay test. Run it (`npx tsx
 * test/workflows/record-histories.ts NAME`) when a workflow learns a new course; an old history is never recorded again,
 * since it stands for the sessions that began under the old code.
 */
const SILENCE_MS = 1_500;
const FOLDER = join(import.meta.dirname, 'histories');

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const closed = (plane: ControlPlane, id: SessionId) =>
  eventually('its workflow ends', async () => (await plane.door.sessionWorkflowState(id)) === 'closed');

/** Preempted once, by one that then makes room again. */
async function preemptOnce(plane: ControlPlane, low: SessionId): Promise<void> {
  await running(plane, low);
  const high = await plane.submit(gpus(4, { priority: 50 }));
  await running(plane, high);
  await stop(plane, high, 0);
}

/** Two models share a GPU; the second sleeps, wakes and ends. */
async function twoModels(
  plane: ControlPlane,
  name: string,
): Promise<{ readonly claimId: string; readonly pool: string }> {
  const pool = await openPoolPlane(plane, name);
  const [first, second] = [`${name}-a`, `${name}-b`];
  await plane.door.kickPool(name);
  await eventually('its member is READY', async () => (await pool.member()) !== '');
  await pool.look();
  await pool.claim(first);
  await pool.until(first, 'ACTIVE');
  const { id } = await pool.claim(second);
  await pool.until(second, 'ACTIVE');
  await pool.sleep(second);
  await pool.until(second, 'SLEEPING');
  await pool.wake(second);
  await pool.until(second, 'ACTIVE');
  await pool.end(second);
  await plane.client.workflow.getHandle(modelWorkflowId(id)).result();
  return { claimId: id, pool: name };
}

const COURSES: Record<string, (plane: ControlPlane) => Promise<SessionId | string>> = {
  async 'session-succeeds'(plane) {
    plane.node.behaviour.exitAfterMs = 300;
    const id = await plane.submit();
    await closed(plane, id);
    return id;
  },
  async 'session-start-fails'(plane) {
    plane.node.behaviour.failStart = { cause: 'bad-command', whose: 'user', message: 'no such program' };
    const id = await plane.submit();
    await closed(plane, id);
    return id;
  },
  async 'session-start-deadline'(plane) {
    plane.node.behaviour.hangStart = true;
    const id = await plane.submit({ startDeadlineSeconds: 0.5 });
    await closed(plane, id);
    return id;
  },
  async 'session-stopped-running'(plane) {
    const id = await plane.submit();
    await plane.until(id, 'RUNNING');
    await stop(plane, id);
    await closed(plane, id);
    return id;
  },
  async 'session-cancelled-waiting'(plane) {
    await plane.store.settings.patchGroup('default', { policy: { paused: true }, ifMatch: null });
    const id = await plane.submit();
    await stop(plane, id);
    await closed(plane, id);
    await plane.store.settings.patchGroup('default', { policy: { paused: false }, ifMatch: null });
    return id;
  },
  async 'session-health-deadline'(plane) {
    const id = await plane.submit({ healthCheck: { port: 80, initialDelaySeconds: 0.3 }, maxRuntimeSeconds: 60 });
    await closed(plane, id);
    return id;
  },
  async 'session-max-runtime'(plane) {
    const id = await plane.submit({ maxRuntimeSeconds: 0.3 });
    await closed(plane, id);
    return id;
  },
  async 'session-preempted-requeued'(plane) {
    await allowPreemption(plane);
    const id = await plane.submit(gpus(4, { gracePeriodSeconds: 0.5, maxRuntimeSeconds: 60 }));
    await preemptOnce(plane, id);
    await running(plane, id, 2);
    await stop(plane, id);
    await closed(plane, id);
    return id;
  },
  async 'session-preempted-ended'(plane) {
    await allowPreemption(plane, { mode: 'terminate' });
    plane.node.behaviour.exitAfterNoticeMs = 100;
    const id = await plane.submit(gpus(4, { gracePeriodSeconds: 5 }));
    await preemptOnce(plane, id);
    await closed(plane, id);
    return id;
  },
  async 'session-stopped-in-its-grace'(plane) {
    await allowPreemption(plane);
    const id = await plane.submit(gpus(4, { gracePeriodSeconds: 60 }));
    await running(plane, id);
    const high = await plane.submit(gpus(4, { priority: 50 }));
    await plane.until(id, 'PREEMPTING');
    await pause(1_000); // until it has its notice
    await stop(plane, id, 0);
    await closed(plane, id);
    await running(plane, high);
    await stop(plane, high, 0);
    return id;
  },
  async 'session-retried'(plane) {
    plane.node.behaviour.script = [{ cause: 'pull-failed', whose: 'platform', message: 'no answer' }, null];
    plane.node.behaviour.exitAfterMs = 300;
    const id = await plane.submit({ retry: AT_ONCE });
    await closed(plane, id);
    return id;
  },
  async 'warm-images'(plane) {
    await plane.door.warmNode('n1', ['a:1', 'b:1']);
    await eventually('they are there', () => plane.node.log.filter((line) => line.startsWith('warm')).length === 2);
    await pause(1_000);
    let warm = '';
    for await (const { workflowId } of plane.client.workflow.list({ query: `WorkflowType = 'warmWorkflow'` }))
      warm = workflowId;
    return warm;
  },
  'model-lives': async (plane) => modelWorkflowId((await twoModels(plane, 'lives')).claimId),
  'pool-turns': async (plane) => poolWorkflowId((await twoModels(plane, 'turns')).pool),
  async 'deployment-lives'(plane) {
    plane.node.behaviour.passesChecks = true;
    const chat = await openServePlane(plane, 'chat', { replicas: 2 });
    const { replicas } = await chat.settled(2, 1);
    await chat.kill(replicas[0]?.sessionId ?? '');
    await pause(500);
    await chat.settled(2, 1);
    await chat.apply({ image: 'engine:2', replicas: 1 });
    await chat.settled(1, 2);
    await chat.end();
    await chat.ended();
    return deploymentWorkflowId(chat.id);
  },
  'group-plans': async () => 'group/default',
  async 'node-watched'(plane) {
    await plane.door.ensureNode('n1');
    await pause(1_000);
    return 'node/n1';
  },
  async 'node-lost'(plane) {
    const marking = setInterval(() => void plane.store.control.markUp(), 300);
    await plane.door.ensureNode('n1');
    await pause(SILENCE_MS * 2);
    await plane.node.stop();
    await eventually('n1 is LOST', async () => (await plane.store.nodes.get('n1'))?.state === 'LOST');
    clearInterval(marking);
    return 'node/n1';
  },
};

/** Stack traces name folders of this machine and mean nothing to a replay. */
const withoutPaths = (history: string): string =>
  history.replaceAll(/"stackTrace": "(?:[^"\\]|\\.)*"/g, '"stackTrace": ""');

async function record(names: readonly string[]): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  const plane = await startControlPlane({ durations: { nodeSilenceMs: SILENCE_MS } });
  try {
    for (const name of names) {
      for (const key of Object.keys(plane.node.behaviour))
        delete plane.node.behaviour[key as keyof typeof plane.node.behaviour];
      const id = (await COURSES[name]?.(plane)) ?? '';
      const workflowId = id.includes('/') ? id : sessionWorkflowId(id);
      writeFileSync(join(FOLDER, `${name}.json`), withoutPaths(historyOf(plane.temporal, workflowId)));
      process.stdout.write(`${name}\n`);
    }
  } finally {
    await plane.stop();
  }
}

const asked = process.argv.slice(2);
await record(asked.length === 0 ? Object.keys(COURSES) : asked);
process.exit(0);
