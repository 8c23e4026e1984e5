import type { Runner } from '../database.js';
import { sql } from '../sql.js';

/**
 * A start or wake whose limit is in force as planned is due, once nobody beside it has more than the plan. A second run makes
 * nothing due again.
 */
export const makeDue = (tx: Runner, pool: string): Promise<number> =>
  tx.run(sql`
    UPDATE model_instances i SET order_due_at = now()
    WHERE i.pool = ${pool} AND i.closed_at IS NULL AND i.order_kind IN ('start', 'wake') AND i.order_due_at IS NULL
      AND i.limit_bytes = i.planned_bytes AND gpus_are_settled(i.id)`);

/** Claims with a due order that their workflow has not been given. */
export async function unreadClaims(tx: Runner, pool: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ claim_id: string }>(sql`
    SELECT DISTINCT e.claim_id FROM model_engines e
    WHERE e.pool = ${pool} AND e.order_due_at IS NOT NULL AND e.order_read_at IS NULL ORDER BY 1`);
  return rows.map((row) => row.claim_id);
}
