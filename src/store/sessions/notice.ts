import type { EndCause, SessionId, SessionState } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { Notice } from '../session-store.js';
import { sql } from '../sql.js';

interface NoticeRow {
  readonly state: SessionState;
  readonly attempt: number;
  readonly stopped: boolean;
  readonly exited: boolean;
  readonly cause: EndCause;
}

const ENDS: ReadonlySet<SessionState> = new Set(['PENDING', 'TERMINATING', 'TERMINATED', 'CANCELLED', 'ERROR']);

/**
 * The whole grace, from the first call on, however late the signal came: `gone_by` follows. What has exited before is not
 * told any more, and ends as its exit says.
 */
export async function beginNotice(tx: Runner, sessionId: SessionId, attempt: number): Promise<Notice> {
  const row = await tx.first<NoticeRow>(sql`
    SELECT s.state, s.attempt, s.stop_requested_at IS NOT NULL AS stopped, s.preempt_cause AS cause,
      EXISTS (SELECT 1 FROM kernels k WHERE k.session_id = s.id AND k.role = 'main' AND k.exited_at IS NOT NULL) AS exited
    FROM sessions s WHERE s.id = ${sessionId} FOR NO KEY UPDATE OF s`);
  if (row === undefined || row.attempt > attempt) return 'stop';
  if (row.attempt < attempt) return 'stale';
  if (row.stopped || ENDS.has(row.state)) return 'stop';
  if (row.state !== 'PREEMPTING') return 'stale';
  if (row.exited) return 'stop';
  const seen = await tx.first<{ left_ms: number }>(sql`
    UPDATE sessions SET preempt_seen_at = coalesce(preempt_seen_at, now()),
      gone_by = greatest(gone_by, coalesce(preempt_seen_at, now()) + coalesce(preempt_grace_ms, grace_ms) * interval '1 ms')
    WHERE id = ${sessionId} RETURNING greatest(0, coalesce(preempt_grace_ms, grace_ms)
      - extract(epoch FROM now() - preempt_seen_at) * 1000)::bigint AS left_ms`);
  return { graceMs: seen?.left_ms ?? 0, cause: row.cause };
}
