import { CancellationScope, condition, isCancellation, patched, setCurrentDetails, sleep } from '@temporalio/workflow';
import type { Finished, Placement } from '../activities/control/control-activities.js';
import type { EndCause } from '../src/contract/index.js';
import { phaseDetails, type ShownSession } from '../src/lifecycle/details.js';
import type { Durations } from '../src/lifecycle/durations.js';
import { control, nodeOrders } from './activity-table.js';
import { show } from './search.js';
import type { SessionInbox } from './session-inbox.js';
import { askNotice, giveNotice } from './session-notice.js';
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

/**
 * Why the attempt ends. `recorded`: the row says so already, by who stopped it or saw it exit. With `graceLeftMs` the row
 * says so too, and its kernels had notice: only what is left of their grace is theirs.
 */
export type AttemptEnd = 'recorded' | FailedAttempt | { readonly graceLeftMs: number };
export interface FailedAttempt {
  readonly cause: EndCause;
  readonly message: string;
  /** The node that failed, where it was one: the next attempt avoids it. */
  readonly node?: string;
}

/**
 * One attempt on its nodes. The releases follow whatever the steps before them did: a start that timed out may still have
 * happened. Nodes first, then the ledger, then the next in the queue (a kick by `finish`).
 */
export async function runAttempt(attempt: Attempt): Promise<Finished> {
  const end = await endOf(attempt);
  return CancellationScope.nonCancellable(async () => {
    if (end !== 'recorded' && 'cause' in end) await recordEnd(attempt, end);
    setCurrentDetails(phaseDetails(attempt.session, 'Ending', nodesOf(attempt)));
    const graceMs = () => graceOf(attempt, end);
    const removed = attempt.placement.nodes.map((place) => removeFrom(attempt, { place, graceMs }));
    const released = await Promise.all(removed);
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
      if (start.kind === 'ended') return start.end;
    }
    if ((await control.markRunning(session.sessionId, placement.attempt)) === 'ending')
      return await endOfStarted(attempt);
    show({ status: 'RUNNING', reason: placement.healthDeadlineMs === null ? '' : 'health_check' });
    setCurrentDetails(phaseDetails(session, 'Running', nodesOf(attempt)));
    return await untilEnd(attempt);
  } catch (error) {
    if (isCancellation(error)) return { cause: 'operator-stop', message: 'its workflow was cancelled in Temporal' };
    return { cause: 'engine-failed', message: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * It ran when the row said already that it ends: by a preemption that came during the start, or, for a workflow that takes
 * over, by one that the workflow before had begun. Its kernels get their notice all the same.
 */
async function endOfStarted(attempt: Attempt): Promise<AttemptEnd> {
  const mayBePreempted = attempt.inbox.preempt >= attempt.placement.attempt;
  if (!mayBePreempted && !(attempt.started && patched('session-takeover-notice'))) return 'recorded';
  const notice = await askNotice(attempt);
  return typeof notice === 'string' ? 'recorded' : { graceLeftMs: await giveNotice(attempt, notice) };
}

/** From SIGTERM to SIGKILL. A stop may ask for another one than the session's own, but gives no more time to who had notice. */
function graceOf({ inbox, placement }: Attempt, end: AttemptEnd): number {
  if (end === 'recorded' || 'cause' in end) return inbox.stopGraceMs ?? placement.graceMs;
  return Math.min(end.graceLeftMs, inbox.stopGraceMs ?? end.graceLeftMs);
}

const recordEnd = ({ session, placement }: Attempt, end: FailedAttempt): Promise<void> =>
  control.markEnding({ sessionId: session.sessionId, attempt: placement.attempt, ...end });

/**
 * Removes the session's containers from one node. True when the node said so; false when the node is gone, so that nobody
 * waits for a dead machine: it reconciles before it takes work again. A node that is there and fails is asked again for
 * as long as it takes, because a device must not be promised while a container may still use it.
 */
async function removeFrom(
  { session, placement, durations }: Attempt,
  { place, graceMs }: { readonly place: Placement['nodes'][number]; readonly graceMs: () => number },
): Promise<boolean> {
  const kernelIds = place.kernels.map(({ kernelId }) => kernelId);
  const order = { sessionId: session.sessionId, attempt: placement.attempt, kernelIds };
  for (let tries = 1; ; tries += 1) {
    try {
      const { remove } = nodeOrders(place.node, durations.nodeScheduleToStartMs);
      await removeWithin((ms) => remove({ ...order, graceMs: ms }), graceMs);
      return true;
    } catch {
      if (await control.nodeGone(place.node)) return false;
      await sleep(Math.min(durations.removeRetryMs * tries, 60_000));
    }
  }
}

/**
 * A stop that leaves less time than the removal under way was given, as a kill does, is handed on: the node cuts the first one
 * short, and answers both when the containers are gone.
 */
async function removeWithin(remove: (graceMs: number) => Promise<void>, graceMs: () => number): Promise<void> {
  let given = graceMs();
  let over = false;
  const setOver = () => {
    over = true;
  };
  const first = remove(given);
  first.then(setOver, setOver);
  for (;;) {
    await condition(() => over || graceMs() < given);
    if (over || !patched('session-removal-hurried')) return first;
    given = graceMs();
    await remove(given);
  }
}
