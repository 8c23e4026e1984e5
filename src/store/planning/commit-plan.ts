import type { Plan } from '../../contract/index.js';
import type { Connection, Runner } from '../database.js';
import { sql } from '../sql.js';
import type { Committed } from '../store.js';
import { book } from './book.js';
import { bookable } from './bookable.js';
import { lockLedger } from './read-ledger.js';
import { writeReasons } from './write-reasons.js';

const STALE: Committed = { outcome: 'stale', placed: [], dropped: 0 };

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

/**
 * One transaction: the generation, then what still holds of the plan, then the reasons that differ. A pass that places
 * nothing raises no generation, so waiting sessions never make another planner's work stale.
 */
export async function commitPlan(connection: Connection, plan: Plan): Promise<CommitResult> {
  return connection.transaction(async (tx) => {
    if (!(await takeGeneration(tx, plan))) return { committed: STALE, changed: [] };
    const holds = plan.placed.length === 0 ? [] : bookable(plan.placed, await lockLedger(tx, plan.group, plan.placed));
    const placed = await book(tx, holds);
    if (placed.length > 0) {
      await tx.run(sql`UPDATE resource_groups SET generation = generation + 1 WHERE name = ${plan.group}`);
    }
    const told = await writeReasons(tx, plan.waiting);
    const committed: Committed = { outcome: 'committed', placed, dropped: plan.placed.length - placed.length };
    return { committed, changed: [...placed.map((one) => one.sessionId), ...told] };
  });
}
