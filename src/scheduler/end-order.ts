import type { GroupPolicy } from '../contract/group.js';
import type { EndOrder } from '../contract/plan.js';
import type { SnapshotPending } from '../contract/snapshot.js';
import { listText } from './amount-text.js';
import { type Alarm, msOf, wakeAt } from './moments.js';

/**
 * Whether a waiting session ends without having run: what it depends on failed, or the group's longest wait has passed.
 * A failure that only cancels does not hide one that makes it fail. Sets the alarm for the moment when the wait is over.
 */
export function endOrderOf(
  session: SnapshotPending,
  policy: Pick<GroupPolicy, 'maxWaitSeconds'>,
  clock: Alarm,
): EndOrder | null {
  return dependencyEnd(session) ?? waitedTooLong(session, policy, clock);
}

function dependencyEnd(session: SnapshotPending): EndOrder | null {
  if (session.dependsOn.length === 0) return null;
  const failed = session.dependsOn.filter(({ state, onFailure }) => state === 'failed' && onFailure !== 'ignore');
  if (failed.length === 0) return null;
  const fails = failed.some(({ onFailure }) => onFailure === 'fail');
  const names = listText(failed.map(({ name, sessionId }) => (name === sessionId ? name : `${name} (${sessionId})`)));
  return {
    ...orderTo(session, fails ? 'ERROR' : 'CANCELLED'),
    cause: 'dependency-failed',
    message: `it was to run after ${names}, which did not succeed`,
  };
}

/** From its submission, or from the start that it asked for. A session that has run before waits as long as it takes. */
function waitedTooLong(
  session: SnapshotPending,
  { maxWaitSeconds }: Pick<GroupPolicy, 'maxWaitSeconds'>,
  clock: Alarm,
): EndOrder | null {
  if (maxWaitSeconds === null || session.attempt > 0) return null;
  const submitted = msOf(session.submittedAt);
  const from = session.startsAt === null ? submitted : Math.max(submitted, msOf(session.startsAt));
  const until = from + maxWaitSeconds * 1000;
  wakeAt(clock, until);
  if (clock.nowMs < until) return null;
  return {
    ...orderTo(session, 'CANCELLED'),
    cause: 'max-wait',
    message: `it waited for ${maxWaitSeconds} s, the longest that this group lets a session wait`,
  };
}

const orderTo = (session: SnapshotPending, state: EndOrder['state']) => ({
  sessionId: session.id,
  version: session.version,
  state,
});
