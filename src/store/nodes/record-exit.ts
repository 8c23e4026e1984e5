import type { EndCause, KernelId, NodeReport, SessionId, SessionState } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { recordEvent } from '../record-event.js';
import { sql } from '../sql.js';
import type { DueSignal } from '../store.js';

export type Exit = Omit<Extract<NodeReport, { kind: 'exited' }>, 'kind'>;

interface ExitRow {
  readonly session_id: SessionId;
  readonly role: string;
  readonly state: SessionState;
  readonly attempt: number;
  readonly failure_policy: 'strict' | 'main';
  readonly node: string | null;
}

function causeOf(exit: Exit): EndCause {
  if (exit.engineLost) return 'engine-failed';
  if (exit.oomKilled) return 'out-of-memory';
  return exit.exitCode === 0 ? 'completed' : 'user-failure';
}

const messageOf = (role: string, exit: Exit): string => {
  if (exit.engineLost) return `the container engine lost ${role}`;
  if (exit.oomKilled) return `${role} used more memory than it asked for`;
  return `${role} ended with exit code ${exit.exitCode}`;
};

/** The main's death ends the session; a worker's only under `strict`, and only when it failed. */
const endsSession = (row: ExitRow, exit: Exit): boolean =>
  row.role === 'main' || (row.failure_policy === 'strict' && causeOf(exit) !== 'completed');

const LIVE: ReadonlySet<SessionState> = new Set(['SCHEDULED', 'PREPARING', 'CREATING', 'RUNNING']);

async function moveToTerminating(tx: Runner, row: ExitRow, exit: Exit): Promise<void> {
  const cause = causeOf(exit);
  const message = messageOf(row.role, exit);
  await tx.run(sql`
    UPDATE sessions SET state = 'TERMINATING', cause = coalesce(cause, ${cause}), message = ${message}, ending_at = now(),
      gone_by = now() + grace_ms * interval '1 ms', failed_node = CASE WHEN ${exit.engineLost} THEN ${row.node} ELSE failed_node END,
      started_at = CASE WHEN ${exit.engineLost} THEN started_at ELSE coalesce(started_at, now()) END,
      version = version + 1, signalled_at = now(), reason = NULL, reason_class = NULL
    WHERE id = ${row.session_id}`);
  await recordEvent(tx, {
    sessionId: row.session_id,
    kind: 'state',
    from: row.state,
    to: 'TERMINATING',
    cause,
    actor: 'node',
    attempt: row.attempt,
    message,
    data: { role: row.role, exitCode: exit.engineLost ? null : exit.exitCode },
  });
}

/**
 * The first report of an exit stays. A container that exited did run, also where its start was not yet acknowledged. A
 * second report changes nothing and answers the same signal, since the first one may not have been sent. A session that is
 * PREEMPTING stays so: its end decides what the exit means; only that of its main kernel ends its grace, since a worker that
 * heeds the notice at once must not cut the checkpoint short.
 */
export async function recordExit(tx: Runner, kernelId: KernelId, exit: Exit): Promise<DueSignal | null> {
  const row = await tx.first<ExitRow>(sql`
    SELECT s.id AS session_id, k.role, s.state, s.attempt, s.spec->>'failurePolicy' AS failure_policy,
      (SELECT r.node FROM reservations r WHERE r.kernel_id = k.id AND r.attempt = s.attempt) AS node
    FROM sessions s JOIN kernels k ON k.session_id = s.id WHERE k.id = ${kernelId} FOR NO KEY UPDATE OF s`);
  if (row === undefined || row.attempt !== exit.attempt) return null;
  const isFirst = await tx.run(sql`
    UPDATE kernels SET exited_at = ${exit.finishedAt}, exit_code = ${exit.engineLost ? null : exit.exitCode},
      exit_reason = ${causeOf(exit)}, log_tail = ${exit.logTail.replaceAll('\0', '')}
    WHERE id = ${kernelId} AND exited_at IS NULL`);
  if (isFirst === 1 && LIVE.has(row.state) && endsSession(row, exit)) {
    await moveToTerminating(tx, row, exit);
    return { sessionId: row.session_id, kind: 'exited', attempt: row.attempt };
  }
  const isLeaving = row.state === 'TERMINATING' || (row.state === 'PREEMPTING' && row.role === 'main');
  return isLeaving ? { sessionId: row.session_id, kind: 'exited', attempt: row.attempt } : null;
}
