import { tsToMs } from '@temporalio/common/lib/time.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nodeWorkflowId } from '../../src/lifecycle/names.js';
import { stopOf } from '../store/ledger.js';
import { type ControlPlane, startControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';
import { type SimulatedNode, startSimulatedNode } from '../support/simulated-node.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';

const SILENCE_MS = 5_000;
/** Longer than the gap after which the control plane counts as having been away. */
const OUTAGE_MS = 16_500;
let temporal: TestTemporal;
let plane: ControlPlane;
let marking: NodeJS.Timeout;
let replacement: SimulatedNode | undefined;

/** As the control worker's beat does it: only while Temporal answers. */
const mark = () =>
  plane.door.ping(1_000).then(
    () => plane.store.control.markUp(),
    () => undefined,
  );
const nodeState = async () => (await plane.store.nodes.get('n1'))?.state;

beforeAll(async () => {
  temporal = await startTestTemporal({ onFile: true });
  plane = await startControlPlane({ temporal, durations: { nodeSilenceMs: SILENCE_MS, lostPollMs: 5_000 } });
  await plane.store.settings.patchGroup('default', { policy: { lostAfterSeconds: 2 }, ifMatch: null });
  await mark();
  marking = setInterval(() => void mark(), 300);
  await plane.door.ensureNode('n1');
});
afterAll(async () => {
  clearInterval(marking);
  await replacement?.stop();
  await plane.stop();
  await temporal.stop();
});

test('an outage of Temporal loses no node and ends no session', async () => {
  const id = await plane.submit({ retry: { maxAttempts: 1 } });
  await plane.until(id, 'RUNNING');
  await temporal.kill();
  await new Promise((resolve) => setTimeout(resolve, OUTAGE_MS)); // far over the limit
  await temporal.start();
  const after = Date.now() + SILENCE_MS * 3;
  while (Date.now() < after) {
    expect(await nodeState()).toBe('READY');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(await plane.session(id)).toMatchObject({ state: 'RUNNING' });
  expect(plane.node.running.size).toBe(1);
}, 120_000);

test('a silent node is LOST, and what was placed there ends as the platform’s failure after lostAfter', async () => {
  const [running] = await plane.store.sessions.list({ limit: 10, open: true }, plane.admin).then(({ items }) => items);
  await plane.node.stop();
  await eventually('the node is LOST', async () => (await nodeState()) === 'LOST', 60);
  const ended = await plane.until(running?.id as never, 'ERROR');
  expect(ended).toMatchObject({ cause: 'node-lost', result: 'platform-failure' });
  await plane.settled();
}, 120_000);

interface Verdict {
  readonly verdict: string;
  readonly retryAfterMs: number;
}

test('a node is LOST at the end of the grace, not a whole limit of silence after it', async () => {
  const { events } = await plane.client.workflow.getHandle(nodeWorkflowId('n1')).fetchHistory();
  const waits: { readonly told: number; readonly waited: number }[] = [];
  let told: number | null = null;
  for (const event of events ?? []) {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled?.activityType?.name === 'presence') {
      if (told !== null) waits.push({ told, waited: tsToMs(scheduled.scheduleToStartTimeout) });
      told = null;
    }
    const data = event.activityTaskCompletedEventAttributes?.result?.payloads?.[0]?.data;
    const answer = data ? (JSON.parse(Buffer.from(data).toString()) as Verdict | null) : null;
    if (answer?.verdict === 'grace') told = answer.retryAfterMs;
  }
  // On a loaded machine the question may come after the grace: then nothing is waited for at all.
  for (const { told: graceMs, waited } of waits) expect(waited).toBe(Math.max(graceMs, SILENCE_MS / 2));
}, 120_000);

test('a node that comes back and reconciles takes work again', async () => {
  const address = { address: temporal.address, namespace: temporal.namespace };
  replacement = await startSimulatedNode({ store: plane.store, door: plane.door, temporal: address }, 'n1');
  replacement.behaviour.exitAfterMs = 50;
  await plane.store.nodes.reconcile('n1', { kernels: [], starting: true });
  expect(await nodeState()).toBe('READY');
  const id = await plane.submit();
  expect(await plane.until(id, 'TERMINATED')).toMatchObject({ result: 'success' });
  await plane.settled();
}, 120_000);

test('what ran on a node that is LOST runs again elsewhere, where it may, and not on that node', async () => {
  replacement!.behaviour.exitAfterMs = undefined;
  const second = await plane.addNode('n2');
  await plane.door.ensureNode('n2');
  const retry = { maxAttempts: 2, backoffSeconds: 0, maxBackoffSeconds: 0 };
  const id = await plane.submit({ retry, placement: { nodes: ['n2'] } });
  const { kernels } = await plane.until(id, 'RUNNING');
  expect(kernels[0]?.node).toBe('n2');
  await second.stop();
  await eventually('it runs as attempt 2', async () => {
    const { state, attempt } = await plane.session(id);
    return state === 'RUNNING' && attempt === 2;
  });
  expect((await plane.session(id)).kernels[0]?.node).toBe('n1');
  await plane.store.sessions.requestStop(stopOf(id));
  await plane.door.signalSession({ sessionId: id, kind: 'stop', attempt: 2 });
  await plane.until(id, 'TERMINATED');
}, 120_000);
