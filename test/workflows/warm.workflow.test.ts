import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
});
afterAll(() => plane.stop());

const warmed = () => plane.node.log.filter((line) => line.startsWith('warm'));
const workflows = async () => {
  const found = [];
  for await (const one of plane.client.workflow.list({ query: `WorkflowType = 'warmWorkflow'` })) found.push(one);
  return found;
};

test('images are brought to a node, again after a failure, and once for who asks twice meanwhile', async () => {
  plane.node.behaviour.failWarms = 1;
  await plane.door.warmNode('n1', ['b:1', 'a:1']);
  await plane.door.warmNode('n1', ['a:1', 'b:1']);
  await eventually('both are there', () => warmed().length === 2);
  expect(warmed()).toEqual(['warm b:1', 'warm a:1']);
  await eventually('it is done', async () => (await workflows()).every(({ status }) => status.name === 'COMPLETED'));
  const [one, ...others] = await workflows();
  expect(others).toEqual([]);
  expect(one?.workflowId).toMatch(/^node-warm\/n1\/[0-9a-f]{16}$/);
});

test('asked again after its end they are brought again: the node may have removed them', async () => {
  await plane.door.warmNode('n1', ['a:1', 'b:1']);
  await eventually('they are brought again', () => warmed().length === 4);
});
