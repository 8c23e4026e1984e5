import type { EndCause, SessionId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { recordEvent } from '../record-event.js';
import { json, sql } from '../sql.js';
import type { EndRow } from './read-end.js';
import type { Settlement } from './settlement.js';

type PutBack = Exclude<Settlement, { readonly next: 'end' }>;

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;

function messageOf(row: EndRow, settlement: PutBack): string {
  if (settlement.next === 'requeue') {
    const why =
      settlement.cause === 'drained' ? 'its node drains' : `its room was wanted by ${row.preempt_for ?? 'another'}`;
    return `${row.message ?? why}; it waits again, at its place by submission`;
  }
  const where = row.failed_node === null ? row.nodes.join(', ') : row.failed_node;
  const tries = `failure ${row.failed_attempts + 1} of ${row.retry.maxAttempts}`;
  return `${tries} on ${where}: ${row.message ?? settlement.cause}; tried again in ${seconds(settlement.backoffMs)}`;
}

/** Nodes to keep away from: the one that failed, or where that is not known all that the attempt had. */
const blamed = (row: EndRow): readonly string[] => (row.failed_node === null ? row.nodes : [row.failed_node]);

async function writeRow(tx: Runner, row: EndRow, { next, message, backoffMs }: Written): Promise<void> {
  const isRetry = next === 'retry';
  const avoid = isRetry ? [...new Set([...row.avoid_nodes, ...blamed(row)])] : row.avoid_nodes;
  await tx.run(sql`
    UPDATE sessions SET state = 'PENDING', version = version + 1, message = ${message},
      reason = ${isRetry ? 'backoff' : 'awaiting_pass'}, reason_class = ${isRetry ? 'retrying' : 'wait'}, reason_since = now(),
      blockers = '[]', violations = '[]', node_verdict = NULL, nearest = NULL, reserved_nodes = '[]',
      expected_start = NULL, expected_basis = NULL, priority = base_priority,
      decay_tries = 0, decay_counted_at = NULL, blocked_since = NULL,
      retry_at = CASE WHEN ${isRetry} THEN now() + ${backoffMs}::float8 * interval '1 ms' END,
      avoid_nodes = ${json(avoid)}::jsonb, failed_attempts = failed_attempts + ${isRetry ? 1 : 0}, failed_node = NULL,
      cause = NULL, exit_code = NULL, placed_at = NULL, started_at = NULL, ending_at = NULL, gone_by = NULL, signalled_at = NULL,
      health = 'none', health_sends = 0, preempt_cause = NULL, preempt_for = NULL, preempt_then = NULL, preempt_grace_ms = NULL,
      preempt_breaks_min = false, preempt_asked_at = NULL, preempt_seen_at = NULL
    WHERE id = ${row.id}`);
  await tx.run(sql`
    UPDATE kernels SET exited_at = NULL, exit_code = NULL, exit_reason = NULL, log_tail = NULL
    WHERE session_id = ${row.id} AND exited_at IS NOT NULL`);
}
interface Written {
  readonly next: PutBack['next'];
  readonly message: string;
  readonly backoffMs: number;
}

/**
 * PENDING again under its id and submission, with its own priority. What it was told and what its kernels left belongs to the
 * attempt that is over; the history keeps it.
 */
export async function putBack(
  tx: Runner,
  row: EndRow,
  { settlement, charged }: { readonly settlement: PutBack; readonly charged: boolean },
): Promise<{ readonly cause: EndCause; readonly message: string }> {
  const message = messageOf(row, settlement);
  const backoffMs = settlement.next === 'retry' ? settlement.backoffMs : 0;
  await writeRow(tx, row, { next: settlement.next, message, backoffMs });
  await recordEvent(tx, {
    sessionId: row.id,
    kind: 'state',
    from: row.state,
    to: 'PENDING',
    cause: settlement.cause,
    actor: 'session',
    attempt: row.attempt,
    message,
    data: {
      next: settlement.next,
      nodes: row.nodes,
      failedNode: row.failed_node,
      backoffMs,
      charged,
      forSessionId: row.preempt_for,
      exitCode: row.main_exit_code,
    },
  });
  return { cause: settlement.cause, message };
}

/** What was answered when this attempt was put back. */
export const putBackBefore = (
  tx: Runner,
  { id, attempt }: { readonly id: SessionId; readonly attempt: number },
): Promise<{ readonly cause: EndCause; readonly message: string } | undefined> =>
  tx.first(sql`
    SELECT cause, message FROM session_events
    WHERE session_id = ${id} AND kind = 'state' AND to_value = 'PENDING' AND attempt = ${attempt} AND from_value IS NOT NULL
    ORDER BY xid DESC, seq DESC LIMIT 1`);
