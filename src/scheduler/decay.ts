import type { GroupPolicy } from '../contract/group.js';
import type { Waiting } from '../contract/plan.js';
import type { SnapshotPending } from '../contract/snapshot.js';
import { type Alarm, msOf, timestampOf, wakeAt } from './moments.js';

/** Passes follow events, so several may come at once: at most one a 2 s is counted. */
const COUNT_EVERY_MS = 2_000;
/** Passes come at least every 30 s. A session that was not seen blocked for longer than this was not blocked all the time. */
const GAP_MS = 60_000;

type Decay = NonNullable<Waiting['decay']>;

/**
 * The first session of a pass that was really tried and found no room is charged for it: after `after` such passes, or
 * `afterSeconds` of them, its priority falls by `step`, not below 0. Null when nothing changes. `blockedSince` is of use
 * by time only. A second run within 2 s changes nothing.
 */
export function decayOf(
  session: SnapshotPending,
  { decay: policy }: Pick<GroupPolicy, 'decay'>,
  clock: Alarm,
): Decay | null {
  if (policy.by === 'off' || session.priority === 0) return null;
  const { tries, countedAt } = session.decay;
  const sinceCountedMs = countedAt === null ? Number.POSITIVE_INFINITY : clock.nowMs - msOf(countedAt);
  const fallen = Math.max(0, session.priority - policy.step);
  if (policy.by === 'time')
    return byTime(session, { afterMs: policy.afterSeconds * 1000, fallen, sinceCountedMs }, clock);
  if (sinceCountedMs < COUNT_EVERY_MS) return null;
  const falls = tries + 1 > policy.after;
  return {
    tries: falls ? 0 : tries + 1,
    countedAt: timestampOf(clock.nowMs),
    blockedSince: null,
    priority: falls ? fallen : session.priority,
  };
}

interface ByTime {
  readonly afterMs: number;
  readonly fallen: number;
  readonly sinceCountedMs: number;
}

function byTime(session: SnapshotPending, { afterMs, fallen, sinceCountedMs }: ByTime, clock: Alarm): Decay | null {
  const now = timestampOf(clock.nowMs);
  const { blockedSince } = session.decay;
  const since = blockedSince === null || sinceCountedMs > GAP_MS ? clock.nowMs : msOf(blockedSince);
  const falls = clock.nowMs - since >= afterMs;
  wakeAt(clock, falls ? clock.nowMs + afterMs : since + afterMs);
  if (!falls && since !== clock.nowMs && sinceCountedMs < COUNT_EVERY_MS) return null;
  return {
    tries: 0,
    countedAt: now,
    blockedSince: falls ? now : timestampOf(since),
    priority: falls ? fallen : session.priority,
  };
}

/** It waits for something else now: time that it is not blocked at the head is not charged. Null when nothing is running. */
export const decayStops = (session: SnapshotPending): Decay | null =>
  session.decay.blockedSince === null
    ? null
    : {
        tries: session.decay.tries,
        countedAt: session.decay.countedAt,
        blockedSince: null,
        priority: session.priority,
      };
