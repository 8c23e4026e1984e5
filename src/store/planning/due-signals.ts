import type { SessionId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import type { DueSignal, PlanningStore } from '../store.js';

/** After this a row that ended while it waited owes its workflow nothing more: it is gone. */
const FORGOTTEN_AFTER = sql`interval '1 hour'`;

/** Since when the row owes the signal; null for those that are sent a few times only. */
const OWED_SINCE = sql`
  CASE WHEN stop_requested_at IS NOT NULL THEN stop_requested_at
    WHEN state = 'SCHEDULED' THEN placed_at
    WHEN state IN ('TERMINATING', 'CANCELLED', 'ERROR') THEN ending_at
    WHEN state = 'PREEMPTING' AND preempt_seen_at IS NULL THEN preempt_asked_at END`;
/**
 * How many times `olderThanMs` lie between two sendings: one more for each 20 s that the row owes it, at most 60. Removing
 * containers may take an hour of grace, or days where an engine hangs, and each sending stays in the workflow's history.
 */
const SPREAD = sql`least(60, 1 + greatest(0, coalesce(extract(epoch FROM signalled_at - ${OWED_SINCE}), 0)) / 20)`;

/**
 * A SCHEDULED row is a `placed` that nobody acknowledged, a row with a stop that has not ended (or that ended while it waited)
 * a `stop`, one that is PREEMPTING and has not taken the notice a `preempt`, one that ends by itself an `exited`. Each is given out again
 * only when its last sending is older than `olderThanMs`, and less and less often: this marks it as sent.
 */
export async function dueSignals(
  db: Runner,
  query: Parameters<PlanningStore['dueSignals']>[0],
): Promise<readonly DueSignal[]> {
  const inGroup = query.group === undefined ? sql`true` : sql`group_name = ${query.group}`;
  const rows = await db.rows<Omit<DueSignal, 'graceMs'> & { sessionId: SessionId; graceMs: number | null }>(sql`
    WITH due AS (
      SELECT id, CASE
          WHEN stop_requested_at IS NOT NULL OR state IN ('CANCELLED', 'ERROR') THEN 'stop'
          WHEN state = 'SCHEDULED' THEN 'placed'
          WHEN state = 'TERMINATING' THEN 'exited'
          WHEN state = 'PREEMPTING' AND preempt_seen_at IS NULL THEN 'preempt'
          WHEN health = 'degraded' THEN 'healthy' ELSE health END AS kind
      FROM sessions
      WHERE settled_at IS NULL
        AND (state IN ('SCHEDULED', 'TERMINATING', 'CANCELLED', 'ERROR') OR state = 'PREEMPTING' AND preempt_seen_at IS NULL
          OR stop_requested_at IS NOT NULL OR health_sends BETWEEN 1 AND 3)
        AND (signalled_at IS NULL OR signalled_at < now() - ${query.olderThanMs}::float8 * ${SPREAD} * interval '1 ms')
        AND (ended_at IS NULL OR ended_at > now() - ${FORGOTTEN_AFTER}) AND ${inGroup}
      ORDER BY signalled_at LIMIT ${query.limit} FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE sessions s SET signalled_at = now(),
      health_sends = CASE WHEN due.kind IN ('healthy', 'unhealthy') THEN s.health_sends + 1 ELSE s.health_sends END
    FROM due WHERE s.id = due.id RETURNING s.id AS "sessionId", due.kind, s.attempt,
      CASE WHEN due.kind <> 'stop' THEN NULL WHEN s.stop_force THEN 0 ELSE s.stop_grace_ms END AS "graceMs"`);
  return rows.map(({ graceMs, ...signal }) => (graceMs === null ? signal : { ...signal, graceMs }));
}
