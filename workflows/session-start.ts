import { CancellationScope, condition, sleep } from '@temporalio/workflow';
import type { Placement } from '../activities/control/control-activities.js';
import { nodeOrders } from './activity-table.js';
import type { Attempt, AttemptEnd } from './session-attempt.js';
import { stopAsked } from './session-inbox.js';
import { askNotice } from './session-notice.js';
import { isPlacementOver, nobodyTookIt, startFailureOf } from './start-failure.js';

/** After an outage of Temporal its schedule-to-start timers fire at once, before the agents poll again. */
const START_TRIES = 3;

/** How the start ended. An end that is `recorded`: the row already says why (a stop, an exit, an end elsewhere). */
export type StartEnd = { readonly kind: 'running' } | { readonly kind: 'ended'; readonly end: AttemptEnd };

const RECORDED: StartEnd = { kind: 'ended', end: 'recorded' };

/** Starts the kernels on all their nodes, all or nothing, within the start deadline: a durable timer. */
export async function startKernels(attempt: Attempt): Promise<StartEnd> {
  const { session, placement, durations } = attempt;
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
  const first = await whatCameFirst(attempt, () => end !== undefined);
  if (end !== undefined) return end;
  scope.cancel();
  await settled; // until the node has stopped creating: what is removed next stays removed
  return isRecorded(attempt) ? RECORDED : first;
}

const isRecorded = ({ inbox, placement }: Attempt): boolean => stopAsked(inbox) || inbox.exited >= placement.attempt;

/** Waits for the start, its deadline, or what the row was told meanwhile. A preemption that the row does not know of is none. */
async function whatCameFirst(attempt: Attempt, startEnded: () => boolean): Promise<StartEnd> {
  const { placement, inbox } = attempt;
  const recorded = () => isRecorded(attempt);
  const preempted = () => inbox.preempt >= placement.attempt;
  const deadline = Date.now() + placement.startDeadlineMs;
  for (let leftMs = placement.startDeadlineMs; ; leftMs = Math.max(deadline - Date.now(), 1)) {
    const inTime = await condition(() => startEnded() || recorded() || preempted(), leftMs, {
      summary: 'start deadline',
    });
    if (startEnded() || recorded()) return RECORDED;
    if (!inTime) return deadlinePassed(placement);
    const notice = await askNotice(attempt);
    if (notice === 'stale') continue;
    // Not all of its kernels ran: they are told by the signal of their removal.
    return notice === 'stop' ? RECORDED : { kind: 'ended', end: { graceLeftMs: notice.graceMs } };
  }
}

const deadlinePassed = ({ startDeadlineMs }: Placement): StartEnd => ({
  kind: 'ended',
  end: { cause: 'start-deadline', message: `not all kernels ran within ${startDeadlineMs / 1000} s of the placement` },
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
  if (!(error instanceof FailedStart)) return { kind: 'ended', end: startFailureOf(error, 'a node') };
  const { cause, node } = error;
  if (!isPlacementOver(cause)) return { kind: 'ended', end: { ...startFailureOf(cause, node), node } };
  // What ended it stands in the row and stays the cause. A row that names none: the node met the deadline before our timer.
  const message = `${node} was asked to start it after its deadline`;
  return { kind: 'ended', end: { cause: 'start-deadline', message, node } };
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
