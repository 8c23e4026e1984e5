import {
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { ClaimLife, DueOrder } from '../activities/control/model-activities.js';
import { DEFAULT_DURATIONS, type Durations } from '../src/lifecycle/durations.js';
import { claimDetails } from '../src/lifecycle/model-details.js';
import { control } from './activity-table.js';
import { carryOutOrder } from './engine-order.js';
import { orderedSignal } from './messages.js';

export interface ModelInput {
  readonly claimId: string;
  readonly durations?: Durations;
}

interface UnderWay {
  readonly seq: number;
  readonly scope: CancellationScope;
}

/**
 * The life of one claim: it reads which orders of its engines are due, has each carried out on its node and writes what came
 * of it. Engines are served side by side, the orders of one engine one after another. Which order comes next is decided by
 * the pool's planner; all that is known stands in the ledger, so this workflow may be lost and started again at any moment.
 */
export async function modelWorkflow({ claimId, durations = DEFAULT_DURATIONS }: ModelInput): Promise<string> {
  let told = false;
  setHandler(orderedSignal, () => {
    told = true;
  });
  const underWay = new Map<string, UnderWay>();
  for (;;) {
    told = false;
    const life = await control.claimLife(claimId);
    for (const [instanceId, { seq, scope }] of underWay)
      if (!life.orders.some((order) => order.instanceId === instanceId && order.seq === seq)) scope.cancel();
    if (life.outcome === 'lives') {
      for (const order of life.orders) {
        if (underWay.has(order.instanceId)) continue;
        underWay.set(
          order.instanceId,
          begin(order, { life, claimId, retryMs: durations.removeRetryMs }, () => {
            underWay.delete(order.instanceId);
            told = true; // its engine may have another order by now
          }),
        );
      }
    }
    setCurrentDetails(claimDetails(life, life.orders));
    if (life.outcome !== 'lives') {
      await condition(() => underWay.size === 0);
      if (!told) return `${life.modelName} ${life.outcome === 'missing' ? 'is not there' : 'has ended'}`;
      continue;
    }
    const netMs = underWay.size > 0 ? durations.modelNetMs : durations.modelRestMs;
    await condition(() => told, netMs, { summary: 'look at the orders again' });
    if (workflowInfo().continueAsNewSuggested && underWay.size === 0)
      await continueAsNew<typeof modelWorkflow>({ claimId, durations });
  }
}

setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, modelWorkflow);

interface Owner {
  readonly life: ClaimLife;
  readonly claimId: string;
  readonly retryMs: number;
}

function begin(order: DueOrder, { life, claimId, retryMs }: Owner, ended: () => void): UnderWay {
  const scope = new CancellationScope();
  void scope
    .run(() => carryOutOrder({ claimId, pool: life.pool, retryMs }, order))
    .catch((error: unknown) => {
      if (!isCancellation(error)) throw error;
    })
    .finally(ended);
  return { seq: order.seq, scope };
}
