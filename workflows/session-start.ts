import { CancellationScope, condition, sleep } from '@temporalio/workflow';
import type { Placement } from '../activities/control/control-activities.js';
import type { EndCause } from '../src/contract/index.js';
import { nodeOrders } from './activity-table.js';
import type { Attempt } from './session-attempt.js';
import { stopAsked } from './session-inbox.js';
import { isPlacementOver, nobodyTookIt, startFailureOf } from './start-failure.js';

/** After an outage of Temporal its schedule-to-start timers fire at once, before the agents poll again. */
const START_TRIES = 3;

/** How the start ended. `recorded`: the row already says why (a stop, an exit, an end elsewhere). */
export type StartEnd =
  | { readonly kind: 'running' }
  | { readonly kind: 'recorded' }
  | { readonly kind: 'failed'; readonly cause: EndCause; readonly message: string };

/** Starts the kernels on all their nodes, all or nothing, within the start deadline: a durable timer. */
export async function startKernels({ session, placement, inbox, durations }: Attempt): Promise<StartEnd> {
  const scope = new CancellationScope();
  let end: StartEnd | undefined;
  const starts = scope.run(() =>
    Promise.all(placement.nodes.map((place) => startOn(session.sessionId, placement, { place, durations }))),
  );
  const settled = starts.then(
    () => {
      end = { kind: 'running' };
    },
    (error: unknown) => {
      end = failed(error);
      scope.cancel(); // one kernel that cannot start ends the others
    },
  );
  const overtaken = () => stopAsked(inbox) || inbox.exited >= placement.attempt;
  const inTime = await condition(() => end !== undefined || overtaken(), placement.startDeadlineMs, {
    summary: 'start deadline',
  });
  if (end !== undefined) return end;
  scope.cancel();
  await settled; // until the node has stopped creating: what is removed next stays removed
  if (overtaken()) return { kind: 'recorded' };
  return inTime ? { kind: 'recorded' } : deadlinePassed(placement);
}

const deadlinePassed = ({ startDeadlineMs }: Placement): StartEnd => ({
  kind: 'failed',
  cause: 'start-deadline',
  message: `not all kernels ran within ${startDeadlineMs / 1000} s of the placement`,
});

class FailedStart extends Error {
  constructor(
    readonly node: string,
    cause: unknown,
  ) {
    super(`start on ${node}`, { cause });
  }
}

const failed = (error: unknown): StartEnd => {
  const { cause, node } = error instanceof FailedStart ? error : { cause: error, node: 'a node' };
  if (!isPlacementOver(cause)) return { kind: 'failed', ...startFailureOf(cause, node) };
  // What ended it stands in the row and stays the cause. A row that names none: the node met the deadline before our timer.
  return { kind: 'failed', cause: 'start-deadline', message: `${node} was asked to start it after its deadline` };
};

async function startOn(
  sessionId: string,
  placement: Placement,
  { place, durations }: { place: Placement['nodes'][number]; durations: Attempt['durations'] },
): Promise<void> {
  const order = { sessionId, attempt: placement.attempt, kernels: place.kernels };
  for (let tries = 1; ; tries += 1) {
    try {
      await nodeOrders(place.node, durations.nodeScheduleToStartMs).start(order);
      return;
    } catch (error) {
      if (!nobodyTookIt(error) || tries === START_TRIES) throw new FailedStart(place.node, error);
      await sleep(durations.removeRetryMs);
    }
  }
}
