import type { Runner } from '../database.js';
import type { LimitOrder, MemberLimits } from '../model-store.js';
import { sql } from '../sql.js';
import { isSilent, isUnstarted } from './sql-words.js';

interface LimitRow extends LimitOrder {
  readonly node: string;
  readonly session_id: string;
  readonly lowers: boolean;
}

/**
 * Every limit in force that is not the record, of members that answer: what was not written, or not confirmed, is there again
 * each turn. One that nobody can read may be anything, so it is lowered to its plan; the segment of a new engine is made with
 * the raises.
 */
export async function limitsToWrite(tx: Runner, pool: string): Promise<readonly MemberLimits[]> {
  const rows = await tx.rows<LimitRow>(sql`
    SELECT m.node, m.session_id, e.id AS "instanceId", e.planned_bytes AS "toBytes", to_json(e.gpus) AS gpus,
      NOT ${isUnstarted} AND coalesce(e.limit_bytes > e.planned_bytes, true) AS lowers
    FROM model_engines e JOIN model_members m ON m.session_id = e.session_id
    WHERE e.pool = ${pool} AND e.phase NOT IN ('STOPPING', 'FAILED') AND e.planned_bytes IS NOT NULL
      AND e.limit_bytes IS DISTINCT FROM e.planned_bytes AND NOT ${isSilent} AND m.unreachable_at IS NULL AND m.node IS NOT NULL
    ORDER BY m.session_id, e.id`);
  const members = new Map<string, { node: string; lower: LimitOrder[]; raise: LimitOrder[] }>();
  for (const { node, session_id, lowers, ...order } of rows) {
    const member = members.get(session_id) ?? { node, lower: [], raise: [] };
    (lowers ? member.lower : member.raise).push(order);
    members.set(session_id, member);
  }
  return [...members].map(([memberSessionId, member]) => ({ memberSessionId, ...member }));
}
