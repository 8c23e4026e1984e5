import { CancellationScope, isCancellation, setCurrentDetails, sleep } from '@temporalio/workflow';
import type { Finished, Placement } from '../activities/control/control-activities.js';
import type { EndCause } from '../src/contract/index.js';
import { phaseDetails, type ShownSession } from '../src/lifecycle/details.js';
import type { Durations } from '../src/lifecycle/durations.js';
import { control, nodeOrders } from './activity-table.js';
import { show } from './search.js';
import type { SessionInbox } from './session-inbox.js';
import { untilEnd } from './session-run.js';
import { startKernels } from './session-start.js';

export interface Attempt {
  readonly session: ShownSession;
  readonly placement: Placement;
  /** Its containers run already: a workflow before this one started them. */
  readonly started: boolean;
  readonly inbox: SessionInbox;
  readonly durations: Durations;
}

/** Why the attempt ends. `recorded`: the row says so already, by who stopped it or saw it exit. */
export type AttemptEnd = 'recorded' | { readonly cause: EndCause; readonly message: string };

/**
 * One attempt on its nodes. The releases follow whatever the steps before them did: a start that timed out may still have
 * happened. Nodes first, then the ledger, then the next in the queue (a kick by `finish`).
 */
export async function runAttempt(attempt: Attempt): Promise<Finished> {
  const end = await endOf(attempt);
  return CancellationScope.nonCancellable(async () => {
    if (end !== 'recorded') await recordEnd(attempt, end);
    setCurrentDetails(phaseDetails(attempt.session, 'Ending', nodesOf(attempt)));
    const released = await Promise.all(attempt.placement.nodes.map((place) => removeFrom(attempt, place)));
    return control.finish(attempt.session.sessionId, attempt.placement.attempt, released.every(Boolean));
  });
}

const nodesOf = ({ placement }: Attempt): string[] => placement.nodes.map(({ node }) => node);

/** Never throws: whatever goes wrong is an end with its cause, so that the releases above are always reached. */
async function endOf(attempt: Attempt): Promise<AttemptEnd> {
  const { session, placement } = attempt;
  try {
    if (!attempt.started) {
      const start = await startKernels(attempt);
      if (start.kind === 'recorded') return 'recorded';
      if (start.kind === 'failed') return { cause: start.cause, message: start.message };
    }
    if ((await control.markRunning(session.sessionId, placement.attempt)) === 'ending') return 'recorded';
    show({ status: 'RUNNING', reason: placement.healthDeadlineMs === null ? '' : 'health_check' });
    setCurrentDetails(phaseDetails(session, 'Running', nodesOf(attempt)));
    return await untilEnd(attempt);
  } catch (error) {
    if (isCancellation(error)) return { cause: 'operator-stop', message: 'its workflow was cancelled in Temporal' };
    return { cause: 'engine-failed', message: error instanceof Error ? error.message : String(error) };
  }
}

const recordEnd = ({ session, placement }: Attempt, end: Exclude<AttemptEnd, 'recorded'>): Promise<void> =>
  control.markEnding({ sessionId: session.sessionId, attempt: placement.attempt, ...end });

/**
 * Removes the session's containers from one node. True when the node said so; false when the node is gone, so that nobody
 * waits for a dead machine: it reconciles before it takes work again. A node that is there and fails is asked again for
 * as long as it takes, because a device must not be promised while a container may still use it.
 */
async function removeFrom(attempt: Attempt, place: Placement['nodes'][number]): Promise<boolean> {
  const { session, placement, durations } = attempt;
  const order = {
    sessionId: session.sessionId,
    attempt: placement.attempt,
    kernelIds: place.kernels.map(({ kernelId }) => kernelId),
    graceMs: attempt.inbox.stopGraceMs ?? placement.graceMs,
  };
  for (let tries = 1; ; tries += 1) {
    try {
      await nodeOrders(place.node, durations.nodeScheduleToStartMs).remove(order);
      return true;
    } catch {
      if (await control.nodeGone(place.node)) return false;
      await sleep(Math.min(durations.removeRetryMs * tries, 60_000));
    }
  }
}
