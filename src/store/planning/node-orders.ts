import type { Plan } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { beginMoveDrain, completeMoves } from '../nodes/moves.js';
import { raiseGeneration } from '../nodes/raise-generation.js';
import { sql } from '../sql.js';

type NodeOrders = Pick<Plan, 'group' | 'drains' | 'drained'>;

/** Of the nodes whose drain for a move has to begin, those that are in the group still and do not drain yet. */
async function readToDrain(tx: Runner, { group, drains }: NodeOrders): Promise<ReadonlySet<string>> {
  if (drains.length === 0) return new Set();
  const rows = await tx.rows<{ name: string }>(sql`
    SELECT name FROM nodes WHERE name = ANY(${drains.map((drain) => drain.node)}::text[]) AND group_name = ${group}
      AND removed_at IS NULL AND drain_since IS NULL`);
  return new Set(rows.map((row) => row.name));
}

/** Of the nodes that the plan found empty, those that the ledger finds empty too. */
async function readEmpty(tx: Runner, { group, drained }: NodeOrders): Promise<readonly string[]> {
  if (drained.length === 0) return [];
  const rows = await tx.rows<{ name: string }>(sql`
    SELECT n.name FROM nodes n
    WHERE n.name = ANY(${drained}::text[]) AND n.group_name = ${group} AND n.removed_at IS NULL AND n.drained_at IS NULL
      AND (n.drain_since IS NOT NULL OR n.unhealthy_reason IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM reservations r WHERE r.node = n.name AND r.released_at IS NULL) ORDER BY n.name`);
  return rows.map((row) => row.name);
}

/** A node that drains already, or is UNHEALTHY, has no drain to begin for its move: the move has begun when its time has come. */
const beginDueMoves = (tx: Runner, group: string): Promise<number> =>
  tx.run(sql`
    UPDATE node_moves m SET started_at = now() FROM nodes n
    WHERE n.name = m.node AND n.group_name = ${group} AND n.removed_at IS NULL AND m.to_group <> n.group_name
      AND (n.drain_since IS NOT NULL OR n.unhealthy_reason IS NOT NULL) AND m.started_at IS NULL AND m.at <= now()`);

/**
 * Drains begin, empty nodes are drained, and those that move are moved. Answers the groups that have a planner to kick. The
 * group's row is changed before those of its nodes, as everywhere; a second run finds nothing to do.
 */
export async function orderNodes(tx: Runner, orders: NodeOrders): Promise<readonly string[]> {
  const toDrain = await readToDrain(tx, orders);
  const empty = await readEmpty(tx, orders);
  if (toDrain.size + empty.length > 0) await raiseGeneration(tx, orders.group);
  for (const { node, message } of orders.drains) if (toDrain.has(node)) await beginMoveDrain(tx, node, message);
  if (empty.length > 0) await tx.run(sql`UPDATE nodes SET drained_at = now() WHERE name = ANY(${empty}::text[])`);
  await beginDueMoves(tx, orders.group);
  return completeMoves(tx, orders.group);
}
