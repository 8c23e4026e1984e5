import type { SessionId, StopOrder } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';
import type { DueSignal } from '../store.js';

/**
 * RUNNING (at a drain's deadline PREPARING or CREATING too) → PREEMPTING, compared with the plan's version and attempt once more; the row is then an unacknowledged `preempt`.
 * `cause` stays open: a stop by the user that comes now still wins. What breaks a minimum runtime is not charged.
 */
export async function stopRunning(tx: Runner, stops: readonly StopOrder[]): Promise<readonly DueSignal[]> {
  if (stops.length === 0) return [];
  const rows = await tx.rows<{ sessionId: SessionId; attempt: number }>(sql`
    WITH ordered AS (
      SELECT * FROM jsonb_to_recordset(${json(stops)}::jsonb) AS o("sessionId" text, version int, attempt int, cause text,
        "forSessionId" text, "then" text, "graceSeconds" float8, "breaksMinRuntime" boolean, message text)),
    moved AS (
      UPDATE sessions s SET state = 'PREEMPTING', version = s.version + 1, preempt_cause = o.cause, preempt_for = o."forSessionId",
        preempt_then = o."then", preempt_grace_ms = (o."graceSeconds" * 1000)::bigint, preempt_breaks_min = o."breaksMinRuntime",
        preempt_asked_at = now(), preempt_seen_at = NULL, gone_by = now() + o."graceSeconds" * interval '1 second',
        signalled_at = now(), message = o.message, reason = NULL, reason_class = NULL
      FROM ordered o JOIN sessions old ON old.id = o."sessionId"
      WHERE s.id = o."sessionId" AND s.state IN ('PREPARING', 'CREATING', 'RUNNING') AND s.version = o.version AND s.attempt = o.attempt
      RETURNING s.id, s.attempt, old.state AS from_state, s.gone_by, o.cause, o."forSessionId", o."then", o."graceSeconds", o."breaksMinRuntime", o.message),
    uncharged AS (
      UPDATE reservations r SET charged = false FROM moved m
      WHERE m."breaksMinRuntime" AND r.session_id = m.id AND r.attempt = m.attempt AND r.released_at IS NULL),
    told AS (
      INSERT INTO session_events (session_id, kind, from_value, to_value, cause, actor, attempt, message, data)
      SELECT id, 'state', from_state, 'PREEMPTING', cause, 'planner', attempt, message, jsonb_build_object('for', "forSessionId",
        'then', "then", 'graceSeconds', "graceSeconds", 'goneBy', gone_by, 'breaksMinRuntime', "breaksMinRuntime")
      FROM moved ORDER BY id)
    SELECT id AS "sessionId", attempt FROM moved ORDER BY id`);
  return rows.map((row) => ({ ...row, kind: 'preempt' }));
}
