import type { GroupPolicy } from '../contract/group.js';
import type { Timestamp } from '../contract/ids.js';
import type { Snapshot, SnapshotPending } from '../contract/snapshot.js';
import type { ExpectedStart } from '../contract/why.js';
import { backfillOf, reserve } from './backfill.js';
import { unboundedBasis } from './blocked.js';
import { keptBack } from './consider.js';
import { demandOf } from './demand.js';
import { msOf, timestampOf } from './moments.js';
import type { Pass } from './pass.js';
import { seekerOf, shapeOf } from './place-now.js';
import { considerPage, considerUpTo, startPass } from './plan-pass.js';
import { inQueueOrder } from './queue-order.js';
import { amountsOf } from './quota-book.js';
import { neverRefusal, unschedulableRefusal } from './standing-refusals.js';

/** Sessions ahead that are looked at. With more of them ahead no start is told. */
export const FORECAST_AHEAD_MAX = 500;

const unknown = (because: string): ExpectedStart => ({ at: null, basis: `unknown, because ${because}` });

/**
 * When a waiting session will start at the latest, if those who run keep their bounds and nobody comes ahead of it: those
 * ahead are given their earliest starts in queue order, then it gets its own. Under `none` nobody starts before those
 * ahead of him. `null` for a session that is not in the queue. Changes nothing.
 */
export function forecast(snapshot: Snapshot, sessionId: string, now: Timestamp): ExpectedStart | null {
  const queue = inQueueOrder(snapshot.pending);
  const place = queue.findIndex(({ id }) => id === sessionId);
  const session = queue[place];
  if (session === undefined) return null;
  const { pending: _pending, ...base } = snapshot;
  const pass = startPass({ ...base, group: { ...base.group, policy: whileLooking(base.group.policy) } }, now);
  const own = hindrance(pass, session);
  if (own !== null) return own;
  if (pass.fairShare !== null) return inFairShare(pass, queue, session);
  if (place > FORECAST_AHEAD_MAX)
    return unknown(`${place} sessions are ahead of it, and at most ${FORECAST_AHEAD_MAX} are looked at`);
  if (pass.heldRooms.has(session.id)) {
    considerPage(pass, [session]);
    const told = pass.waiting.find((each) => each.sessionId === sessionId);
    if (told !== undefined) return told.expectedStart;
  }
  const { backfill } = base.group.policy;
  const blocking = queue.slice(0, place).find((ahead) => !look(pass, ahead, backfill));
  if (blocking !== undefined) return unknown(`${blocking.name} is ahead of it, and its start has no bound`);
  return startOf(pass, session, base.group.policy);
}

/**
 * Under fair share the starts of the first `most` in order, by one look that gives each of them its claim time: what
 * `forecast` tells of each. Those who wait for a known time or a back-off are left out, since it looks past that for the one
 * who asks. Empty where the group's order is another one. Changes nothing.
 */
export function forecastInOrder(snapshot: Snapshot, now: Timestamp, most: number): ReadonlyMap<string, ExpectedStart> {
  const { pending, ...base } = snapshot;
  const pass = startPass({ ...base, group: { ...base.group, policy: whileLooking(base.group.policy) } }, now);
  const starts = new Map<string, ExpectedStart>();
  if (pass.fairShare === null) return starts;
  considerPage(pass, pending);
  const considered = considerUpTo(pass, null, most);
  const told = new Map<string, ExpectedStart>(pass.waiting.map((one) => [one.sessionId, one.expectedStart]));
  for (const session of pending) {
    if (!considered.has(session.id) || earliestMs(pass, session) > pass.clock.nowMs) continue;
    const found = told.get(session.id) ?? { at: now, basis: ROOM_NOW };
    starts.set(session.id, hindrance(pass, session) ?? found);
  }
  return starts;
}

const ROOM_NOW = 'there is room for it now';

/** By the order of the budgets as they are now: each one ahead holds its claim time, whatever the policy lets others keep. */
function inFairShare(pass: Pass, queue: readonly SnapshotPending[], session: SnapshotPending): ExpectedStart {
  // What holds it until a known time is not in the way of telling its start after that.
  const others = queue.filter(({ id }) => id !== session.id);
  considerPage(pass, [...others, { ...session, startsAt: null, retryAt: null }]);
  const considered = considerUpTo(pass, session.id, FORECAST_AHEAD_MAX + 1);
  if (!considered.has(session.id))
    return unknown(
      `at least ${considered.size} sessions are ahead of it, and at most ${FORECAST_AHEAD_MAX} are looked at`,
    );
  const told = pass.waiting.find(({ sessionId }) => sessionId === session.id)?.expectedStart;
  if (told === undefined) return { at: timestampOf(earliestMs(pass, session)), basis: ROOM_NOW };
  return told.at === null || msOf(told.at) >= earliestMs(pass, session)
    ? told
    : { at: timestampOf(earliestMs(pass, session)), basis: `${told.basis}, not before the time that holds it` };
}

/** Gives a session that is ahead its room. False when its start has no bound. */
function look(pass: Pass, ahead: SnapshotPending, mode: GroupPolicy['backfill']): boolean {
  const last = pass.backfill?.reservations.at(-1);
  if (mode !== 'none' || last === undefined || pass.backfill === null) return considerPage(pass, [ahead]);
  // Without backfill nobody starts before those ahead of him: neither now nor later.
  const demand = demandOf(ahead);
  if (keptBack(pass, ahead, amountsOf(demand)) !== null || hindrance(pass, ahead) !== null) return true;
  return (
    reserve(pass.backfill, {
      ...seekerOf(pass, ahead, { demand, shape: shapeOf(pass, demand) }),
      fromMs: msOf(last.at),
    }) !== null
  );
}

/** Everybody ahead gets room in time, whatever the policy does about those behind. */
const whileLooking = (policy: GroupPolicy): GroupPolicy => ({ ...policy, backfill: 'conservative', paused: false });

/** What keeps it for a time that nobody knows. */
function hindrance(pass: Pass, session: SnapshotPending): ExpectedStart | null {
  const demand = demandOf(session);
  const open = session.dependsOn.find(({ state }) => state === 'open');
  if (open !== undefined) return unknown(`it depends on ${open.name}, whose end is not known`);
  if (neverRefusal(pass.standing, demand) !== null) return unknown('no node of the group can ever hold it');
  if (unschedulableRefusal(pass.standing, demand) !== null)
    return unknown('no READY node could hold it even when empty');
  return null;
}

function startOf(pass: Pass, session: SnapshotPending, policy: GroupPolicy): ExpectedStart {
  const demand = demandOf(session);
  pass.backfill ??= backfillOf(pass);
  const { reservations } = pass.backfill;
  const fromMs = earliestMs(pass, session);
  const lastAhead = policy.backfill === 'none' ? reservations.map(({ at }) => msOf(at)) : [];
  const notBefore = Math.max(fromMs, ...lastAhead.slice(-1));
  const ahead = reservations.length;
  const reservation = reserve(pass.backfill, {
    ...seekerOf(pass, session, { demand, shape: shapeOf(pass, demand) }),
    fromMs: notBefore,
  });
  if (reservation === null) return { at: null, basis: unboundedBasis(pass) };
  const behind = ahead === 0 ? '' : `, after ${ahead} that ${ahead === 1 ? 'waits' : 'wait'} ahead of it`;
  const given = policy.paused ? ', once the group is no longer paused' : '';
  return { at: reservation.at, basis: `${reservation.basis}${behind}${given}, if those who run keep their bounds` };
}

/** Its own start time and back-off. */
function earliestMs({ clock }: Pass, { startsAt, retryAt }: SnapshotPending): number {
  const moments = [startsAt, retryAt].flatMap((at) => (at === null ? [] : [msOf(at)]));
  return Math.max(clock.nowMs, ...moments);
}
