import type { SessionId } from '../contract/ids.js';
import type { SnapshotPending } from '../contract/snapshot.js';
import { protectedUntilMs } from '../lifecycle/protection.js';
import { consider, sweep } from './consider.js';
import { type FairShare, noteChosen, noteClaim, orderThem } from './fair-share.js';
import { loadsCrossInMs } from './loads-cross.js';
import { wakeAt } from './moments.js';
import type { Pass } from './pass.js';
import { compareQueueOrder } from './queue-order.js';
import { loadsOnPath, rightsOf } from './stop-rights.js';
import { isAllocated, pendingUnder } from './under-budgets.js';

/** A page of the queue: nobody is considered before all are known. */
export function collect(fair: FairShare, page: readonly SnapshotPending[]): void {
  for (const session of page) fair.collected.push(pendingUnder(fair.terms, session));
}

/**
 * Considers everybody in the order of the budgets: first those that have room held for them, since they were chosen before,
 * then the one that is next by what has been chosen so far. `last`: those behind it are left out, and so are those
 * behind the first `most`. A second call considers
 * who was collected since.
 */
export function considerInOrder(
  pass: Pass,
  fair: FairShare,
  { last = null, most = Infinity }: { readonly last?: SessionId | null; readonly most?: number } = {},
): void {
  if (fair.collected.length === 0) return;
  const { waiting, chosen } = holdersFirst(pass, fair);
  if (last !== null && fair.order.includes(last)) return;
  orderThem(fair, waiting, chosen);
  const { queue } = fair;
  for (let request = queue.next(); request !== null; request = queue.next()) {
    const { session } = request;
    considerNext(pass, fair, session);
    if (isChosen(pass, session)) {
      queue.settle(request, 'chosen');
      noteChosen(fair, session);
      if (!hasRoom(pass, session)) noteClaim(fair, session);
    }
    if (session.id === last || fair.order.length >= most) return;
  }
  if (fair.unplaced.some(({ session }) => isAllocated(session))) wakeWhenTimeAloneTells(pass, fair);
}

function holdersFirst(pass: Pass, fair: FairShare) {
  const waiting: SnapshotPending[] = [];
  const chosen: SnapshotPending[] = [];
  const held = fair.collected.filter(({ id }) => pass.heldRooms.has(id)).toSorted(compareQueueOrder);
  for (const session of held) {
    if (!sweep(pass, session)) waiting.push(session);
    else fair.order.push(session.id);
    if (isChosen(pass, session)) chosen.push(session);
  }
  const holders = new Set<string>(held.map(({ id }) => id));
  for (const session of fair.collected) if (!holders.has(session.id)) waiting.push(session);
  fair.collected.length = 0;
  return { waiting, chosen };
}

function considerNext(pass: Pass, fair: FairShare, session: SnapshotPending): void {
  fair.order.push(session.id);
  consider(pass, session);
  const { budgetId } = session;
  const isHead = fair.head === null && pass.backfill?.reservations.at(-1)?.sessionId === session.id;
  if (isHead && budgetId !== null && isAllocated(session))
    fair.head = { session, rights: rightsOf(fair, budgetId, 'inTime'), loads: loadsOnPath(fair, budgetId) };
}

/** It was placed, gets its room when others have left, or holds its claim time. */
const isChosen = (pass: Pass, session: SnapshotPending): boolean =>
  hasRoom(pass, session) || pass.backfill?.reservations.at(-1)?.sessionId === session.id;

const hasRoom = ({ started, heldRooms }: Pass, { id }: SnapshotPending): boolean =>
  started.at(-1)?.session.id === id || heldRooms.has(id);

/** Who waits and is charged may stop more at the next end of a protection, or once use has made somebody more over-served. */
function wakeWhenTimeAloneTells({ running, clock }: Pass, fair: FairShare): void {
  const crossInMs = loadsCrossInMs(fair);
  if (crossInMs !== null) wakeAt(clock, clock.nowMs + crossInMs);
  for (const session of running.values()) {
    if (!isAllocated(session) || !session.preemptible || session.goneBy !== null) continue;
    const untilMs = protectedUntilMs(session);
    if (untilMs !== null) wakeAt(clock, untilMs);
  }
}

/** Those that stay waiting, in the order in which they were considered. */
export function waitingInOrder({ waiting }: Pass, { order }: FairShare): SessionId[] {
  const stay = new Set<string>(waiting.map(({ sessionId }) => sessionId));
  return order.filter((id) => stay.has(id));
}
