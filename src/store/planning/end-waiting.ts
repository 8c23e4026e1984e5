import type { EndOrder, SessionId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';
import type { DueSignal } from '../store.js';

/** PENDING → CANCELLED or ERROR with the cause. Until it is settled the row owes its workflow a `stop`. */
export async function endWaiting(tx: Runner, ends: readonly EndOrder[]): Promise<readonly DueSignal[]> {
  if (ends.length === 0) return [];
  const rows = await tx.rows<{ sessionId: SessionId; attempt: number }>(sql`
    WITH ordered AS (
      SELECT * FROM jsonb_to_recordset(${json(ends)}::jsonb)
        AS o("sessionId" text, version int, state text, cause text, message text)),
    ended AS (
      UPDATE sessions s SET state = o.state, result = CASE o.state WHEN 'CANCELLED' THEN 'cancelled' ELSE 'failure' END,
        cause = o.cause, message = o.message, version = s.version + 1, ending_at = now(), ended_at = now(), signalled_at = now(),
        reason = NULL, reason_class = NULL, retry_at = NULL, expected_start = NULL, expected_basis = NULL, reserved_nodes = '[]',
        nearest = NULL
      FROM ordered o WHERE s.id = o."sessionId" AND s.state = 'PENDING' AND s.version = o.version
      RETURNING s.id, s.attempt, o.state, o.cause, o.message),
    unheld AS (DELETE FROM room_holds h USING ended e WHERE h.session_id = e.id),
    told AS (
      INSERT INTO session_events (session_id, kind, from_value, to_value, cause, actor, attempt, message)
      SELECT id, 'state', 'PENDING', state, cause, 'planner', attempt, message FROM ended ORDER BY id)
    SELECT id AS "sessionId", attempt FROM ended ORDER BY id`);
  return rows.map((row) => ({ ...row, kind: 'stop' }));
}

/** Groups where somebody waits for one of these: they are to look again. */
export async function groupsBehind(tx: Runner, ended: readonly string[]): Promise<readonly string[]> {
  if (ended.length === 0) return [];
  const rows = await tx.rows<{ name: string }>(sql`
    SELECT DISTINCT s.group_name AS name FROM session_dependencies d JOIN sessions s ON s.id = d.session_id
    WHERE d.upstream_id = ANY(${ended}::text[]) AND s.state = 'PENDING' ORDER BY s.group_name`);
  return rows.map((row) => row.name);
}
