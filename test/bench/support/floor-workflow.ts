import { defineSearchAttributeKey } from '@temporalio/common';
import {
  condition,
  continueAsNew,
  defineSignal,
  defineUpdate,
  proxyActivities,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { FloorControl, FloorNode, FloorSession } from './floor-names.js';
import { FLOOR_CONTROL, FLOOR_NODE } from './floor-names.js';

/** The tasks of a session and of its planner, and nothing in them: what Temporal alone costs. */
const control = proxyActivities<FloorControl>({ taskQueue: FLOOR_CONTROL, startToCloseTimeout: '10s' });
const node = proxyActivities<FloorNode>({ taskQueue: FLOOR_NODE, startToCloseTimeout: '10s' });
const status = defineSearchAttributeKey('BerthStatus', 'KEYWORD');
const show = (value: string) => upsertSearchAttributes([{ key: status, value }]);

/** Update, six activities on two queues, signals `placed` and `exited` (its kick goes to the group), three upserts. */
export async function floorSession({ id, isPlanned }: FloorSession): Promise<string> {
  const got = { placed: false, exited: false };
  setHandler(defineSignal('placed'), () => {
    got.placed = true;
  });
  setHandler(defineSignal('exited'), () => {
    got.exited = true;
  });
  const admission = control.admit({ id, isPlanned });
  setHandler(defineUpdate<string>('admit'), async () => {
    await admission;
    return 'admitted';
  });
  await admission;
  await condition(() => got.placed);
  await control.begin(id);
  show('PREPARING');
  await node.startKernels(id);
  await control.markRunning(id);
  show('RUNNING');
  await condition(() => got.exited);
  await node.removeKernels(id);
  await control.finish(id);
  show('TERMINATED');
  return 'TERMINATED';
}

export async function floorGroup(): Promise<void> {
  let kicked = true;
  setHandler(defineSignal('kick'), () => {
    kicked = true;
  });
  for (;;) {
    await condition(() => kicked, '30s');
    kicked = false;
    await control.plan();
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof floorGroup>();
  }
}
