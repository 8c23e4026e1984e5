import { CancellationScope, condition, setCurrentDetails } from '@temporalio/workflow';
import type { Noticed } from '../activities/control/control-activities.js';
import { phaseDetails } from '../src/lifecycle/details.js';
import { control, nodeOrders } from './activity-table.js';
import { show } from './search.js';
import type { Attempt } from './session-attempt.js';
import { stopAsked } from './session-inbox.js';

/** Asks the row whether the attempt is to leave. A stale one is forgotten, so that only a further signal asks again. */
export async function askNotice({ session, placement, inbox }: Attempt): Promise<Noticed> {
  const noticed = await control.beginNotice(session.sessionId, placement.attempt);
  if (noticed === 'stale') inbox.preempt = 0;
  return noticed;
}

/**
 * Tells the kernels that they will be stopped and waits until they have ended or their grace is over; a stop by the user
 * ends the wait. The grace runs from the notice's beginning, whether a node takes it or not. Answers what is left of it.
 */
export async function giveNotice(attempt: Attempt, notice: Exclude<Noticed, string>): Promise<number> {
  const { session, placement, inbox } = attempt;
  const nodes = placement.nodes.map(({ node }) => node);
  show({ status: 'PREEMPTING', reason: notice.cause });
  setCurrentDetails(phaseDetails(session, `Stopping (${notice.cause}), attempt ${placement.attempt},`, nodes));
  if (notice.graceMs <= 0) return 0;
  const until = Date.now() + notice.graceMs;
  const telling = new CancellationScope();
  const told = telling.run(() => Promise.all(placement.nodes.map((place) => tell(attempt, place, notice.graceMs))));
  const over = () => stopAsked(inbox) || inbox.exited >= placement.attempt;
  await condition(over, notice.graceMs, { summary: 'grace period' });
  telling.cancel();
  await told.catch(() => undefined);
  return Math.max(0, until - Date.now());
}

/** A node that does not take it or fails: its kernels are removed without notice when the grace is over. */
async function tell(
  { session, placement, durations }: Attempt,
  place: Attempt['placement']['nodes'][number],
  graceMs: number,
) {
  const kernelIds = place.kernels.map(({ kernelId }) => kernelId);
  const order = { sessionId: session.sessionId, attempt: placement.attempt, kernelIds, graceMs };
  const { notice } = nodeOrders(place.node, durations.nodeScheduleToStartMs);
  await notice(graceMs)(order).catch(() => undefined);
}
