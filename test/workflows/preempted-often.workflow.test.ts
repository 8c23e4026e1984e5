import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';
import { allowPreemption, gpus, running, stop } from './course.js';

const SUGGESTED_AT = 80;
const TIMES = 8;

let temporal: TestTemporal;
let plane: ControlPlane;
beforeAll(async () => {
  temporal = await startTestTemporal({ dynamicConfig: [`limit.historyCount.suggestContinueAsNew=${SUGGESTED_AT}`] });
  plane = await startControlPlane({ temporal });
  await allowPreemption(plane);
});
afterAll(async () => {
  await plane.stop();
  await temporal.stop();
});

const runsOf = async (workflowId: string) => {
  const runs = [];
  for await (const run of plane.client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) runs.push(run);
  return runs;
};

test(`a session that is preempted ${TIMES} times goes on in new runs, each with a short history, and knows its stop in the last`, async () => {
  const low = await plane.submit(gpus(4, { priority: 10, gracePeriodSeconds: 0 }));
  for (let attempt = 1; attempt <= TIMES; attempt += 1) {
    await running(plane, low, attempt);
    const high = await plane.submit(gpus(4, { priority: 50 }));
    await running(plane, high);
    await stop(plane, high, 0);
  }
  await running(plane, low, TIMES + 1);
  await eventually('visibility knows its runs', async () => (await runsOf(`session/${low}`)).length >= 3);
  for (const { historyLength } of await runsOf(`session/${low}`)) expect(historyLength).toBeLessThan(2 * SUGGESTED_AT);
  expect(await plane.door.submitSession(low, 20_000)).toEqual({ outcome: 'admitted' });
  await stop(plane, low);
  expect(await plane.until(low, 'TERMINATED')).toMatchObject({ result: 'stopped', attempt: TIMES + 1 });
  await plane.settled();
}, 180_000);
