import type { Timestamp } from '../contract/ids.js';
import type { Plan } from '../contract/plan.js';
import type { Snapshot, SnapshotPending, SnapshotQuota } from '../contract/snapshot.js';
import { consider, sweep } from './consider.js';
import { dropRoom, keepRoom } from './held-rooms.js';
import { alarm, msOf, timestampOrNull } from './moments.js';
import { nodeTable } from './node-table.js';
import type { Pass, PassBase } from './pass.js';
import { inQueueOrder } from './queue-order.js';
import { learnQuotas, quotaBook } from './quota-book.js';
import { rankingOf } from './ranking.js';
import { standingRefusals } from './standing-refusals.js';

export type { Pass, PassBase } from './pass.js';

const PLAN_SCHEMA = 'berth.plan/1' satisfies Plan['schema'];

/**
 * Plans one pass: who of the queue gets which node and devices, and why the others wait. Pure, and the same for any
 * order of the nodes and any size of the pages. Sorts the queue when it is not in order.
 */
export function planPass(snapshot: Snapshot, now: Timestamp): Plan {
  const { pending, ...base } = snapshot;
  const pass = startPass(base, now);
  considerPage(pass, inQueueOrder(pending));
  considerPage(pass, []);
  return finishPass(pass);
}

export function startPass(base: PassBase, now: Timestamp): Pass {
  const clock = alarm(msOf(now));
  const { name: group, policy } = base.group;
  const nodes = nodeTable(base.nodes, 'now', policy);
  const running = base.running.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const pass: Pass = {
    base: { ...base, running },
    now,
    clock,
    nodes,
    ranking: rankingOf(nodes, policy, { atMs: clock.nowMs, running }),
    quotas: quotaBook(base.quotas),
    standing: standingRefusals({
      group,
      nodes: nodes.nodes,
      slotOrder: policy.slotOrder,
      rules: policy,
      atMs: clock.nowMs,
    }),
    running: new Map(running.map((session) => [session.id, session])),
    heldRooms: new Map(),
    placed: [],
    waiting: [],
    ends: [],
    stops: [],
    holds: [],
    droppedHolds: [],
    started: [],
    fullShapes: new Set(),
    blockedShapes: new Map(),
    backfill: null,
    headSeen: false,
    blockedBy: null,
    skipped: 0,
    isWholeQueue: false,
  };
  for (const hold of base.holds.toSorted((a, b) => (a.sessionId < b.sessionId ? -1 : 1)))
    pass.heldRooms.set(hold.sessionId, keepRoom(pass.ranking, hold, pass.running));
  return pass;
}

/**
 * Considers the next sessions of the queue; `quotas` are those of their owners that the base did not bring. False once
 * a session stops the pass: no further page need be read, but where `needsWholeQueue` says so. Of a page that is given
 * all the same only those that end, or have room of their own, are decided on; the others are counted as skipped. An
 * empty page says that the queue has been read to its end.
 */
export function considerPage(
  pass: Pass,
  page: readonly SnapshotPending[],
  quotas: readonly SnapshotQuota[] = [],
): boolean {
  learnQuotas(pass.quotas, quotas);
  if (page.length === 0) pass.isWholeQueue = true;
  for (const session of page) {
    if (pass.blockedBy === null) consider(pass, session);
    else if (!sweep(pass, session)) pass.skipped += 1;
  }
  return pass.blockedBy === null;
}

export function finishPass(pass: Pass): Plan {
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
    drains: [],
    drained: [],
    nextWakeAt: timestampOrNull(pass.clock.nextMs),
  };
}

/** Rooms of sessions that are not in the queue any more. The next pass has the room. */
function dropUnclaimed(pass: Pass): void {
  for (const [sessionId, held] of pass.heldRooms) {
    if (held.session !== null) continue;
    dropRoom(pass.ranking, held);
    pass.heldRooms.delete(sessionId);
    pass.droppedHolds.push(sessionId as Plan['droppedHolds'][number]);
  }
}
