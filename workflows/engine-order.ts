import { ActivityFailure } from '@temporalio/common';
import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import type { DueOrder } from '../activities/control/model-activities.js';
import type { OrderResult } from '../src/contract/index.js';
import { ENGINE_DRAIN_SECONDS } from '../src/lifecycle/durations.js';
import { orderText } from '../src/lifecycle/model-details.js';
import { control, engineOrders } from './activity-table.js';
import { nodeIsSilent } from './start-failure.js';

/** Whose order it is, and how long to wait between tries on a node that does not answer. */
export interface OrderOf {
  readonly claimId: string;
  readonly pool: string;
  readonly retryMs: number;
}

/** A node that does not take a start or wake is asked twice, as after an outage of Temporal; then the ledger looks elsewhere. */
const TRIES = 2;

/**
 * Carries one order out and settles it. What is cancelled meanwhile (the ledger has taken the order back) settles nothing;
 * once the node has answered, its answer is always written.
 */
export async function carryOutOrder(of: OrderOf, order: DueOrder): Promise<void> {
  const result = await resultOf(of, order);
  const { claimId, pool } = of;
  const { instanceId, seq } = order;
  await CancellationScope.nonCancellable(() => control.settleOrder({ claimId, pool, instanceId, seq, result }));
}

/**
 * A start or a wake that fails is the ledger's to place elsewhere. A sleep whose node is silent, and any stop, is tried until
 * it is done or taken back: what the engine holds is held until then.
 */
async function resultOf({ retryMs }: OrderOf, order: DueOrder): Promise<OrderResult> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await onNode(order);
    } catch (error) {
      if (isCancellation(error)) throw error;
      const silent = nodeIsSilent(error);
      const goesOn = order.kind === 'stop' || (silent && (order.kind === 'sleep' || tries < TRIES));
      if (!goesOn)
        return { outcome: 'failed', whose: 'node', message: `${orderText(order)}: ${reasonOf(error, silent)}` };
      await sleep(retryMs, { summary: `${order.kind} again: ${order.node} did not do it` });
    }
  }
}

function onNode(order: DueOrder): Promise<OrderResult> {
  const { instanceId, seq, kind, node, plannedBytes } = order;
  const orders = engineOrders(node, orderText(order));
  switch (kind) {
    case 'start':
      return orders.start({ instanceId, seq });
    case 'sleep':
      return orders.sleep({ instanceId, seq });
    case 'wake':
      return orders.wake({ instanceId, seq, plannedBytes: plannedBytes ?? 0 });
    case 'stop':
      return orders.stop({ instanceId, seq, drainSeconds: ENGINE_DRAIN_SECONDS });
  }
}

function reasonOf(error: unknown, silent: boolean): string {
  if (silent) return 'the agent of the node does not answer';
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof Error ? cause.message : 'no cause given';
}
