import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../activities/control/control-activities.js';
import type { EngineActivities } from '../activities/node/engine-activities.js';
import type { NodeActivities } from '../activities/node/node-activities.js';
import { ENGINE_CHANGE_MS, ENGINE_START_MS, LIMIT_WRITE_MS } from '../src/lifecycle/durations.js';
import { CONTROL_QUEUE, nodeQueue } from '../src/lifecycle/names.js';

/**
 * Time-outs and retries of every activity, in one place. Control activities are short transactions and are retried for
 * ever: a workflow waits for its database, it does not fail with it.
 */
const retryForEver = { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '10s' } as const;

export const control = proxyActivities<ControlActivities>({
  taskQueue: CONTROL_QUEUE,
  startToCloseTimeout: '10s',
  retry: retryForEver,
});

/** Orders to one node. A node that does not take the order in time is the platform's fault, and the caller decides what follows. */
export const nodeOrders = (node: string, scheduleToStartMs: number) => ({
  start: proxyActivities<Pick<NodeActivities, 'startKernels'>>({
    taskQueue: nodeQueue(node),
    scheduleToStartTimeout: scheduleToStartMs,
    startToCloseTimeout: '2h',
    heartbeatTimeout: '30s',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: `pull, create and start on ${node}`,
    retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '10s', maximumAttempts: 8 },
  }).startKernels,
  remove: proxyActivities<Pick<NodeActivities, 'removeKernels'>>({
    taskQueue: nodeQueue(node),
    scheduleToStartTimeout: scheduleToStartMs,
    startToCloseTimeout: '65m',
    heartbeatTimeout: '30s',
    summary: `stop and remove on ${node}`,
    retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '5s', maximumAttempts: 3 },
  }).removeKernels,
  /** A node that is away or fails costs its kernels the notice, never the waiting session its room: the grace runs on. */
  notice: (graceMs: number) =>
    proxyActivities<Pick<NodeActivities, 'notice'>>({
      taskQueue: nodeQueue(node),
      scheduleToCloseTimeout: graceMs,
      heartbeatTimeout: '30s',
      cancellationType: ActivityCancellationType.TRY_CANCEL,
      summary: `notice on ${node}`,
      retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s', maximumAttempts: 5 },
    }).notice,
});

/** One try: what a member's limits are is asked again in the next turn, from what stands then. */
export const limitsOn = (node: string, summary: string) =>
  proxyActivities<Pick<EngineActivities, 'setLimits'>>({
    taskQueue: nodeQueue(node),
    scheduleToCloseTimeout: LIMIT_WRITE_MS,
    summary,
    retry: { maximumAttempts: 1 },
  }).setLimits;

const ENGINE_TAKEN_MS = 30_000;

/**
 * Orders to one engine. Where one is cancelled its end is waited for: the next order of the same engine must not meet it. An
 * attempt that is lost with its agent is tried again by the agent that comes back, on the same engine.
 */
export const engineOrders = (node: string, summary: string) => {
  const orders = (startToCloseTimeout: number) =>
    proxyActivities<EngineActivities>({
      taskQueue: nodeQueue(node),
      scheduleToStartTimeout: ENGINE_TAKEN_MS,
      startToCloseTimeout,
      heartbeatTimeout: '30s',
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      summary,
      retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '5s', maximumAttempts: 3 },
    });
  const { sleepEngine: sleep, wakeEngine: wake, stopEngine: stop } = orders(ENGINE_CHANGE_MS);
  return { start: orders(ENGINE_START_MS).startEngine, sleep, wake, stop };
};

/** Images brought to a node ahead of demand: tried for a day, since the node may be away for a while. */
export const warmOn = (node: string) =>
  proxyActivities<Pick<NodeActivities, 'warm'>>({
    taskQueue: nodeQueue(node),
    scheduleToCloseTimeout: '24h',
    startToCloseTimeout: '2h',
    heartbeatTimeout: '30s',
    summary: `bring images to ${node}`,
    retry: { initialInterval: '2s', backoffCoefficient: 2, maximumInterval: '5m', maximumAttempts: 10 },
  }).warm;

/** The node's beat. One attempt: what a silence means is decided on Postgres's clock, not by a retry. */
export const presenceOf = (node: string, heartbeatMs: number, scheduleToStartMs: number | null) =>
  proxyActivities<Pick<NodeActivities, 'presence'>>({
    taskQueue: nodeQueue(node),
    startToCloseTimeout: '24h',
    heartbeatTimeout: heartbeatMs,
    ...(scheduleToStartMs === null ? {} : { scheduleToStartTimeout: scheduleToStartMs }),
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    summary: `presence of ${node}`,
    retry: { maximumAttempts: 1 },
  }).presence;
