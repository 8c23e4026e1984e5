import type { SessionId, Timestamp } from '../contract/ids.js';
import type { Plan } from '../contract/plan.js';
import type { Snapshot, SnapshotPending, SnapshotQuota } from '../contract/snapshot.js';
import { explainAll } from './blocked.js';
import { consider, sweep } from './consider.js';
import { collect, considerInOrder, waitingInOrder } from './consider-in-order.js';
import { fairShareOf } from './fair-share.js';
import { dropRoom, keepRoom } from './held-rooms.js';
import { type Alarm, alarm, msOf, timestampOrNull, wakeAt } from './moments.js';
import { nodeTable } from './node-table.js';
import type { Pass, PassBase } from './pass.js';
import { planDrains } from './plan-drains.js';
import { preemptionOf } from './preemption.js';
import { inQueueOrder } from './queue-order.js';
import { learnQuotas, quotaBook } from './quota-book.js';
import { rankingOf } from './ranking.js';
import { standingRefusals } from './standing-refusals.js';
import { tellShares } from './tell-shares.js';
import { tellToGo } from './tell-to-go.js';
import { policyUnder, runningUnder, termsOf } from './under-budgets.js';

export type { Pass, PassBase } from './pass.js';

const PLAN_SCHEMA = 'berth.plan/1' satisfies Plan['schema'];

/**
 * Plans one pass: who of the queue gets which node and devices, and why the others wait. Pure, and the same for any
 * order of the nodes and any size of the pages. Sorts the queue when it is not in order.
 */
export function planPass(snapshot: Snapshot, now: Timestamp): Plan {
  const { pending, ...base } = snapshot;
  const pass = startPass({ ...base, holds: withWaiters(base.holds, pending) }, now);
  considerPage(pass, inQueueOrder(pending));
  considerPage(pass, []);
  return finishPass(pass);
}

function withWaiters(holds: Snapshot['holds'], pending: Snapshot['pending']): Snapshot['holds'] {
  if (holds.every(({ waiter }) => waiter !== undefined)) return holds;
  const ids = new Set(holds.map(({ sessionId }) => sessionId));
  const waiters = new Map(pending.filter(({ id }) => ids.has(id)).map((session) => [session.id, session]));
  return holds.map((hold) => ({ waiter: waiters.get(hold.sessionId), ...hold }));
}

/** Each hold of a group with guarantees is to name its waiter. */
export function startPass(given: PassBase, now: Timestamp): Pass {
  const clock = alarm(msOf(now));
  const base = baseOf(given, now);
  const { name: group, policy } = base.group;
  const fairShare = fairShareOf(base, clock.nowMs);
  const nodes = nodeTable(base.nodes, 'now', policy);
  const ranking = rankingOf(nodes, policy, { atMs: clock.nowMs, running: base.running });
  const leaves = leavesOf(base, now, clock);
  const heldRooms: Pass['heldRooms'] = new Map();
  const droppedHolds: Pass['droppedHolds'] = [];
  const placed: Pass['placed'] = [];
  for (const hold of base.holds.toSorted((a, b) => (a.sessionId < b.sessionId ? -1 : 1)))
    heldRooms.set(hold.sessionId, keepRoom(ranking, hold, leaves.running));
  const stopsSomebody = fairShare !== null || policy.preemption.enabled || base.guarantees.length > 0;
  return {
    base,
    now,
    clock,
    nodes,
    ranking,
    ...leaves,
    quotas: quotaBook(base.quotas),
    standing: standingRefusals({ group, nodes: nodes.nodes, slotOrder: policy.slotOrder, now: nodes }),
    fairShare,
    preemption: stopsSomebody
      ? preemptionOf(base, now, { ranking, heldRooms, droppedHolds, placed, stops: leaves.stops, fairShare })
      : null,
    heldRooms,
    droppedHolds,
    placed,
    waiting: [],
    ends: [],
    holds: [],
    started: [],
    fullShapes: new Set(),
    openShapes: new Set(),
    unexplained: [],
    backfill: null,
    headSeen: false,
    blockedBy: null,
    skipped: 0,
    isWholeQueue: false,
  };
}

/** Those who run by id; under fair share by their contracts, and the policy as it holds there. */
function baseOf(given: PassBase, now: Timestamp): PassBase {
  const running = given.running.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  if (given.budgets === null) return { ...given, running };
  const terms = termsOf(given.budgets);
  return {
    ...given,
    guarantees: [],
    group: { ...given.group, policy: policyUnder(given.group.policy) },
    running: running.map((session) => runningUnder(terms, session, now)),
  };
}

/** Who has to leave because a node drains: decided before anybody is placed. */
function leavesOf(base: PassBase, now: Timestamp, clock: Alarm): Pick<Pass, 'running' | 'stops' | 'drains'> {
  const { stops, drained, drains, nextWakeAt } = planDrains(base, now);
  if (nextWakeAt !== null) wakeAt(clock, msOf(nextWakeAt));
  const running = new Map(base.running.map((session) => [session.id as string, session]));
  tellToGo(running, stops, clock);
  return { running, stops: [...stops], drains: { drained, drains } };
}

/**
 * Considers the next sessions of the queue; `quotas` are those of their owners that the base did not bring. False once
 * a session stops the pass: no further page need be read, but where `needsWholeQueue` says so. Of a page that is given
 * all the same only those that end, or have room of their own, are decided on; the others are counted as skipped. An
 * empty page says that the queue has been read to its end; under fair share nobody is considered before it has.
 */
export function considerPage(
  pass: Pass,
  page: readonly SnapshotPending[],
  quotas: readonly SnapshotQuota[] = [],
): boolean {
  learnQuotas(pass.quotas, quotas);
  if (page.length === 0) pass.isWholeQueue = true;
  if (pass.fairShare !== null) {
    collect(pass.fairShare, page);
    if (page.length === 0) considerInOrder(pass, pass.fairShare);
    return true;
  }
  for (const session of page) {
    if (pass.blockedBy === null) consider(pass, session);
    else if (!sweep(pass, session)) pass.skipped += 1;
  }
  return pass.blockedBy === null;
}

/** Under fair share, after the pages: up to this session in the order or the first `most`, and not those behind. Who was considered, in order. */
export function considerUpTo(pass: Pass, last: SessionId | null, most = Infinity): ReadonlySet<string> {
  if (pass.fairShare === null) throw new Error('the order of this group is that of its pages');
  considerInOrder(pass, pass.fairShare, { last, most });
  return new Set(pass.fairShare.order);
}

export function finishPass(pass: Pass): Plan {
  explainAll(pass);
  if (pass.fairShare !== null) tellShares(pass, pass.fairShare);
  return settlePass(pass);
}

/** The same plan, but for the words of those who found no room: nobody is told why. */
export function settlePass(pass: Pass): Plan {
  if (pass.isWholeQueue) dropUnclaimed(pass);
  return {
    schema: PLAN_SCHEMA,
    group: pass.base.group.name,
    generation: pass.base.group.generation,
    now: pass.now,
    placed: pass.placed,
    waiting: pass.waiting,
    blockedBy: pass.blockedBy,
    skipped: pass.skipped,
    reservations: pass.backfill?.reservations ?? [],
    stops: pass.stops,
    holds: pass.holds,
    droppedHolds: pass.droppedHolds,
    ends: pass.ends,
    ...pass.drains,
    order: pass.fairShare === null ? null : waitingInOrder(pass, pass.fairShare),
    nextWakeAt: timestampOrNull(pass.clock.nextMs),
  };
}

/** Rooms of sessions that are not in the queue any more. The next pass has the room: it comes in a second. */
function dropUnclaimed(pass: Pass): void {
  for (const [sessionId, held] of pass.heldRooms) {
    if (held.session !== null) continue;
    dropRoom(pass.ranking, held);
    wakeAt(pass.clock, pass.clock.nowMs + 1_000);
    pass.heldRooms.delete(sessionId);
    pass.droppedHolds.push(sessionId as Plan['droppedHolds'][number]);
  }
}
