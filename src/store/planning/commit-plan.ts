import type { Plan } from '../../contract/index.js';
import type { Connection, Runner } from '../database.js';
import { sql } from '../sql.js';
import type { Committed, DueSignal } from '../store.js';
import { book } from './book.js';
import { bookable } from './bookable.js';
import { markDirty } from './dirty.js';
import { endWaiting, groupsBehind } from './end-waiting.js';
import { writeOrder } from './group-order.js';
import { giveUpRoom, keepRoom } from './keep-room.js';
import { type LockedSessions, lockSessions, stillWaits } from './lock-sessions.js';
import { orderNodes } from './node-orders.js';
import { lockLedger } from './read-ledger.js';
import { type StandingOrders, standingOrders } from './standing-orders.js';
import { stopRunning } from './stop-running.js';
import { writeReasons } from './write-reasons.js';

const STALE: Committed = { outcome: 'stale', placed: [], signals: [], kicks: [], dropped: 0 };

/** Locks the group's row, so that commits come one by one, and compares the generation. No submit, release or cancel writes this row. */
async function takeGeneration(tx: Runner, plan: Plan): Promise<boolean> {
  const changed = await tx.run(sql`
    UPDATE resource_groups g SET blocked_by = b.id, blocked_rank = b.queue_rank, blocked_submitted_at = b.submitted_at,
      last_pass_at = now()
    FROM (SELECT 1) one LEFT JOIN sessions b ON b.id = ${plan.blockedBy} AND b.state = 'PENDING'
    WHERE g.name = ${plan.group} AND g.generation = ${plan.generation}`);
  return changed === 1;
}

export interface CommitResult {
  readonly committed: Committed;
  /** Sessions with a new event. */
  readonly changed: readonly string[];
}

async function placeStanding(tx: Runner, plan: Plan, locked: LockedSessions): Promise<Committed['placed']> {
  const standing = plan.placed.filter((one) => stillWaits(locked, one));
  if (standing.length === 0) return [];
  return book(tx, bookable(standing, await lockLedger(tx, standing, { group: plan.group, locked })));
}

const droppedOf = (
  plan: Plan,
  done: { readonly placed: number; readonly signals: number; readonly orders: StandingOrders },
) =>
  plan.placed.length -
  done.placed +
  (plan.stops.length + plan.ends.length - done.signals) +
  (plan.holds.length - done.orders.holds.length);

/** What still holds of the plan, in its transaction, with the group's row locked. */
async function carryOut(tx: Runner, plan: Plan): Promise<CommitResult> {
  const locked = await lockSessions(tx, plan);
  const orders = standingOrders(plan, locked);
  const ended = await endWaiting(
    tx,
    plan.ends.filter((end) => stillWaits(locked, end)),
  );
  const givenUp = await giveUpRoom(tx, plan.droppedHolds);
  const stopped = await stopRunning(tx, orders.stops);
  const kept = await keepRoom(tx, plan.group, orders.holds);
  const placed = await placeStanding(tx, plan, locked);
  if (placed.length + stopped.length + kept + givenUp > 0) {
    await tx.run(sql`UPDATE resource_groups SET generation = generation + 1 WHERE name = ${plan.group}`);
  }
  const grown = await orderNodes(tx, plan);
  const waiting = plan.waiting.filter((one) => !orders.droppedFor.has(one.sessionId));
  await writeOrder(tx, plan);
  const told = await writeReasons(tx, { waiting, reservations: plan.reservations });
  const signals: readonly DueSignal[] = [...stopped, ...ended];
  const kicks = [
    ...grown,
    ...(await groupsBehind(
      tx,
      ended.map((one) => one.sessionId),
    )),
  ];
  const dropped = droppedOf(plan, { placed: placed.length, signals: signals.length, orders });
  return {
    committed: { outcome: 'committed', placed, signals, kicks, dropped },
    changed: [...new Set([...[...placed, ...signals].map((one) => one.sessionId), ...told])],
  };
}

/** Turned on in transactions of their own: nobody who submits to them waits for this commit. One that dies here leaves them to the slow net. */
async function turnOn(connection: Connection, groups: readonly string[]): Promise<readonly string[]> {
  const kicks: string[] = [];
  for (const group of new Set(groups)) if (await markDirty(connection, group, false)) kicks.push(group);
  return kicks;
}

/**
 * One transaction: the generation, then what still holds of the plan, then the reasons that differ. A pass that changes
 * nothing but reasons raises no generation, so waiting sessions never make another planner's work stale.
 */
export async function commitPlan(connection: Connection, plan: Plan): Promise<CommitResult> {
  const { committed, changed } = await connection.transaction(async (tx): Promise<CommitResult> => {
    if (!(await takeGeneration(tx, plan))) return { committed: STALE, changed: [] };
    return carryOut(tx, plan);
  });
  return { committed: { ...committed, kicks: await turnOn(connection, committed.kicks) }, changed };
}
