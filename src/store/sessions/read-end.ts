import type { EndCause, Session, SessionId, SessionKind, SessionState } from '../../contract/index.js';
import type { RetryPolicy } from '../../lifecycle/retry.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import type { AttemptFacts } from './settlement.js';

/** The row of a session whose attempt is over, locked. */
export interface EndRow {
  readonly id: SessionId;
  readonly kind: SessionKind;
  readonly state: SessionState;
  readonly attempt: number;
  readonly result: Session['result'];
  readonly cause: EndCause | null;
  readonly exit_code: number | null;
  readonly group_name: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly stop_requested_at: string | null;
  readonly message: string | null;
  readonly retry: RetryPolicy;
  readonly failed_attempts: number;
  readonly failed_node: string | null;
  readonly avoid_nodes: readonly string[];
  readonly preempt_cause: 'preempted' | 'drained' | null;
  readonly preempt_then: 'requeue' | 'end' | null;
  readonly preempt_for: string | null;
  readonly preempt_breaks_min: boolean;
  readonly preempt_seen_at: string | null;
  readonly main_exit_code: number | null;
  /** Where this attempt was placed, by name. */
  readonly nodes: readonly string[];
}

export const readEnd = (tx: Runner, sessionId: SessionId): Promise<EndRow | undefined> =>
  tx.first<EndRow>(sql`
    SELECT s.id, s.kind, s.state, s.attempt, s.result, s.cause, s.exit_code, s.group_name, s.started_at, s.ended_at,
      s.stop_requested_at, s.message, s.spec->'retry' AS retry, s.failed_attempts, s.failed_node, s.avoid_nodes,
      s.preempt_cause, s.preempt_then, s.preempt_for, s.preempt_breaks_min, s.preempt_seen_at,
      (SELECT k.exit_code FROM kernels k WHERE k.session_id = s.id AND k.rank = (
        SELECT min(rank) FROM kernels m WHERE m.session_id = s.id AND m.role = 'main')) AS main_exit_code,
      (SELECT coalesce(json_agg(DISTINCT r.node ORDER BY r.node), '[]') FROM reservations r
        WHERE r.session_id = s.id AND r.attempt = s.attempt) AS nodes
    FROM sessions s WHERE s.id = ${sessionId} FOR NO KEY UPDATE OF s`);

export const factsOf = (row: EndRow): AttemptFacts => ({
  state: row.state,
  cause: row.cause,
  ran: row.started_at !== null,
  stopAsked: row.stop_requested_at !== null,
  preempt:
    row.preempt_cause === null || row.preempt_then === null
      ? null
      : { cause: row.preempt_cause, then: row.preempt_then },
  mainExitCode: row.main_exit_code,
  told: row.preempt_seen_at !== null,
  failures: row.failed_attempts,
  retry: row.retry,
});
