import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/control-plane.js';
import { type SimulatedNode, startSimulatedNode } from '../support/simulated-node.js';

let plane: ControlPlane;
let back: SimulatedNode | undefined;
beforeAll(async () => {
  plane = await startControlPlane({ durations: { nodeScheduleToStartMs: 300, removeRetryMs: 100 } });
});
afterAll(async () => {
  await back?.stop();
  await plane.stop();
});

test('an order that no agent takes in time ends the session as node-lost, and is held until the node has removed it', async () => {
  await plane.node.stop();
  const id = await plane.submit({ retry: { maxAttempts: 1 } });
  expect(await plane.until(id, 'TERMINATING')).toMatchObject({ cause: 'node-lost' });
  const held = await plane.store.planning.snapshot('default');
  expect(held?.nodes[0]?.devices.filter(({ heldBy }) => heldBy !== null)).toHaveLength(1);
  back = await startSimulatedNode({ store: plane.store, door: plane.door, temporal: plane.temporal }, 'n1');
  expect(await plane.until(id, 'ERROR')).toMatchObject({ cause: 'node-lost', result: 'platform-failure' });
  expect(back.log.filter((line) => line.startsWith('start'))).toEqual([]);
  await plane.settled();
});
