import { REASONS, type SessionId, type Waiting } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';

/**
 * Writes the reasons that differ from those written; an event only where the reason itself changed, not its numbers.
 * A row that is being changed by somebody else is passed over: the next pass tells it.
 */
export async function writeReasons(tx: Runner, waiting: readonly Waiting[]): Promise<readonly SessionId[]> {
  if (waiting.length === 0) return [];
  const rows = waiting.map((one) => ({ ...one, class: REASONS[one.reason] }));
  const told = await tx.rows<{ session_id: SessionId }>(sql`
    WITH given AS (
      SELECT * FROM jsonb_to_recordset(${json(rows)}::jsonb) AS w("sessionId" text, reason text, class text, message text,
        blockers jsonb, violations jsonb, nodes jsonb)),
    different AS (
      SELECT s.id, s.attempt, s.reason AS old_reason, w.* FROM given w JOIN sessions s ON s.id = w."sessionId"
      WHERE s.state = 'PENDING' AND (s.reason IS DISTINCT FROM w.reason OR s.message IS DISTINCT FROM w.message
        OR s.blockers <> w.blockers OR s.violations <> w.violations OR s.node_verdict IS DISTINCT FROM nullif(w.nodes, 'null'))
      ORDER BY s.id FOR NO KEY UPDATE OF s SKIP LOCKED),
    written AS (
      UPDATE sessions s SET reason = d.reason, reason_class = d.class, message = d.message, blockers = d.blockers,
        violations = d.violations, node_verdict = nullif(d.nodes, 'null'),
        reason_since = CASE WHEN s.reason IS DISTINCT FROM d.reason THEN now() ELSE s.reason_since END
      FROM different d WHERE s.id = d.id)
    INSERT INTO session_events (session_id, kind, from_value, to_value, cause, actor, attempt, message, data)
    SELECT id, 'reason', old_reason, reason, reason, 'planner', attempt, message, jsonb_build_object('class', class)
    FROM different WHERE old_reason IS DISTINCT FROM reason ORDER BY id
    RETURNING session_id`);
  return told.map((row) => row.session_id);
}
