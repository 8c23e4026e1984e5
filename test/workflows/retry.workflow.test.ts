import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { StartFailure } from '../../src/contract/index.js';
import { type ControlPlane, startControlPlane } from '../support/control-plane.js';
import type { SimulatedNode } from '../support/simulated-node.js';
import { AT_ONCE, behaveAgain, gpus, running, setPolicy, statesOf, stop, stopAll } from './course.js';

let plane: ControlPlane;
let other: SimulatedNode;
beforeAll(async () => {
  plane = await startControlPlane();
  other = await plane.addNode('n2');
  await setPolicy(plane, { blackHoleFailures: 0 });
});
afterAll(() => plane.stop());
afterEach(async () => {
  behaveAgain(plane);
  behaveAgain({ ...plane, node: other });
  await stopAll(plane);
  await plane.settled();
});

const PULL: StartFailure = { cause: 'pull-failed', whose: 'platform', message: 'the registry does not answer' };
const USER: StartFailure = { cause: 'bad-command', whose: 'user', message: 'no such program' };
const nodeOf = async (id: Parameters<ControlPlane['session']>[0]) => (await plane.session(id)).kernels[0]?.node;

describe('an attempt that the platform failed', () => {
  test('is followed by one on another node', async () => {
    plane.node.behaviour.failStart = PULL;
    const id = await plane.submit(gpus(1, { retry: AT_ONCE, placement: { nodes: ['n1'] } }));
    await running(plane, id, 2);
    expect(await nodeOf(id)).toBe('n2');
    expect(await statesOf(plane, id)).toEqual(
      ['PENDING SCHEDULED PREPARING TERMINATING', 'PENDING SCHEDULED PREPARING RUNNING'].flatMap((line) =>
        line.split(' '),
      ),
    );
  });

  test('is not repeated before its back-off is over', async () => {
    plane.node.behaviour.failStart = PULL;
    const retry = { maxAttempts: 2, backoffSeconds: 3, maxBackoffSeconds: 3 };
    const id = await plane.submit(gpus(1, { retry, placement: { nodes: ['n1'] } }));
    await running(plane, id, 2);
    const events = await plane.store.events.ofSession(id, null, 100);
    const [failedAt, placedAt] = ['TERMINATING', 'SCHEDULED'].map((state) =>
      Date.parse(events.findLast(({ to }) => to === state)?.at ?? ''),
    );
    expect(placedAt! - failedAt!).toBeGreaterThanOrEqual(3_000);
  });

  test('three times ends the session with the cause', async () => {
    plane.node.behaviour.failStart = PULL;
    other.behaviour.failStart = PULL;
    const id = await plane.submit(gpus(1, { retry: AT_ONCE }));
    expect(await plane.until(id, 'ERROR')).toMatchObject({
      cause: 'pull-failed',
      result: 'platform-failure',
      attempt: 3,
      message: expect.stringContaining('does not answer') as string,
    });
  });

  test('is not followed by another one when its user stopped it meanwhile', async () => {
    plane.node.behaviour.failStart = PULL;
    other.behaviour.failStart = PULL;
    const retry = { maxAttempts: 3, backoffSeconds: 60, maxBackoffSeconds: 60 };
    const id = await plane.submit(gpus(1, { retry }));
    await plane.until(id, 'TERMINATING', 'PENDING');
    await stop(plane, id);
    await plane.until(id, 'CANCELLED', 'ERROR', 'TERMINATED');
  });
});

test('a failure of the request is the user’s, and is not tried again', async () => {
  plane.node.behaviour.failStart = USER;
  other.behaviour.failStart = USER;
  const id = await plane.submit(gpus(1, { retry: AT_ONCE }));
  expect(await plane.until(id, 'ERROR')).toMatchObject({ cause: 'bad-command', attempt: 1 });
});

test('the maximum runtime is of each attempt', async () => {
  plane.node.behaviour.failStart = PULL;
  const id = await plane.submit(gpus(1, { retry: AT_ONCE, maxRuntimeSeconds: 1, placement: { nodes: ['n1'] } }));
  expect(await plane.until(id, 'TERMINATED')).toMatchObject({ cause: 'max-runtime', attempt: 2 });
});

test('a node where several different sessions fail to start is cordoned, with the reason', async () => {
  await setPolicy(plane, { blackHoleFailures: 2 });
  plane.node.behaviour.failStart = PULL;
  const wish = gpus(1, { retry: AT_ONCE, placement: { nodes: ['n1'] } });
  for (const id of [await plane.submit(wish), await plane.submit(wish)]) await running(plane, id, 2);
  expect(await plane.store.nodes.get('n1')).toMatchObject({ state: 'CORDONED' });
  expect((await plane.store.nodes.get('n1'))?.stateReason).toMatch(
    /^the starts of \d+ sessions in a row failed here: ses_/,
  );
  await plane.store.nodes.setCordon('n1', false, '');
});
