import type { SessionId, SessionState } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { forgiveNodes } from '../nodes/failed-starts.js';
import { recordEvent } from '../record-event.js';
import { sql } from '../sql.js';

interface Moved {
  readonly old_state: SessionState;
}

const HAS_ANSWERED = sql`s.health IN ('healthy', 'degraded', 'unhealthy')`;

/** All containers run. A second call finds RUNNING and says so; an exit or a stop that was first wins. */
export async function markRunning(
  tx: Runner,
  sessionId: SessionId,
  attempt: number,
): Promise<{ readonly outcome: 'running' | 'ending' }> {
  const moved = await tx.first<Moved>(sql`
    UPDATE sessions s SET state = 'RUNNING', version = s.version + 1, started_at = coalesce(s.started_at, now()), message = NULL,
      health = CASE WHEN s.spec->'healthCheck' IS NULL THEN 'healthy' WHEN ${HAS_ANSWERED} THEN s.health ELSE 'starting' END,
      reason = CASE WHEN s.spec->'healthCheck' IS NULL OR ${HAS_ANSWERED} THEN NULL ELSE 'health_check' END,
      reason_class = CASE WHEN s.spec->'healthCheck' IS NULL OR ${HAS_ANSWERED} THEN NULL ELSE 'starting' END,
      reason_since = now()
    FROM (SELECT id, state FROM sessions WHERE id = ${sessionId} FOR NO KEY UPDATE) old
    WHERE s.id = old.id AND s.attempt = ${attempt} AND s.stop_requested_at IS NULL AND s.state IN ('PREPARING', 'CREATING')
    RETURNING old.state AS old_state`);
  if (moved !== undefined) {
    await tx.run(sql`
      UPDATE reservations SET running_at = coalesce(running_at, now())
      WHERE session_id = ${sessionId} AND attempt = ${attempt} AND released_at IS NULL`);
    await forgiveNodes(tx, sessionId, attempt);
    const change = { from: moved.old_state, to: 'RUNNING', cause: 'started', actor: 'session' };
    await recordEvent(tx, { sessionId, kind: 'state', attempt, ...change });
    return { outcome: 'running' };
  }
  const row = await tx.first<{ running: boolean }>(sql`
    SELECT state = 'RUNNING' AND attempt = ${attempt} AND stop_requested_at IS NULL AS running FROM sessions WHERE id = ${sessionId}`);
  return { outcome: row?.running === true ? 'running' : 'ending' };
}
