import type { EndCause, SessionId, SessionState } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { recordEvent } from '../record-event.js';
import type { SessionStore, Stopped, StopRequest } from '../session-store.js';
import { json, sql } from '../sql.js';
import { isPlatformFailure } from './outcome.js';

interface StopRow {
  readonly state: SessionState;
  readonly attempt: number;
  readonly ended: boolean;
  readonly stop_requested_at: string | null;
  readonly health: string;
  readonly stop_force: boolean | null;
}

const lockRow = (tx: Runner, sessionId: SessionId): Promise<StopRow | undefined> =>
  tx.first<StopRow>(sql`
    SELECT state, attempt, ended_at IS NOT NULL AS ended, stop_requested_at, health, stop_force
    FROM sessions WHERE id = ${sessionId} FOR NO KEY UPDATE`);

type Move = Omit<StopRequest, 'graceMs' | 'force'> & {
  readonly to: 'TERMINATING' | 'CANCELLED';
  readonly node?: string | undefined;
};

/**
 * The first cause stays: what came later did not end it. But a session that is PREEMPTING would only have left: what ends it
 * now is its cause. Room that was kept for one that waits is nobody's any more.
 */
export async function moveTo(
  tx: Runner,
  row: { readonly state: SessionState; readonly attempt: number },
  { to, node, ...request }: Move,
): Promise<void> {
  const isEnd = to === 'CANCELLED';
  const first = row.state === 'PREEMPTING' ? sql`NULL::text` : sql`cause`;
  const moved = await tx.first<{ readonly cause: EndCause; readonly message: string | null }>(sql`
    UPDATE sessions SET state = ${to}, cause = coalesce(${first}, ${request.cause}),
      message = CASE WHEN coalesce(${first}, ${request.cause}) = ${request.cause} THEN ${request.message} ELSE message END,
      failed_node = coalesce(${node ?? null}, failed_node),
      gone_by = CASE WHEN ${isEnd} THEN NULL ELSE now() + CASE WHEN stop_force THEN 0 ELSE coalesce(stop_grace_ms, grace_ms) END * interval '1 ms' END,
      result = CASE WHEN ${isEnd} THEN 'cancelled' ELSE result END, version = version + 1,
      ending_at = now(), ended_at = CASE WHEN ${isEnd} THEN now() ELSE NULL END, signalled_at = now(),
      reason = NULL, reason_class = NULL
    WHERE id = ${request.sessionId} RETURNING cause, message`);
  if (isEnd) await tx.run(sql`DELETE FROM room_holds WHERE session_id = ${request.sessionId}`);
  await recordEvent(tx, {
    sessionId: request.sessionId,
    kind: 'state',
    from: row.state,
    to,
    cause: moved?.cause ?? request.cause,
    actor: request.actor,
    attempt: row.attempt,
    message: moved?.message ?? '',
  });
}

export async function recordStop(tx: Runner, request: Omit<StopRequest, 'message'>): Promise<void> {
  await tx.run(sql`
    UPDATE sessions SET stop_requested_at = coalesce(stop_requested_at, now()), stop_actor = coalesce(stop_actor, ${request.actor}),
      stop_grace_ms = coalesce(${request.graceMs}::bigint, stop_grace_ms), stop_force = coalesce(stop_force, false) OR ${request.force},
      cause = coalesce(cause, ${request.cause}), version = version + 1, signalled_at = now()
    WHERE id = ${request.sessionId}`);
}

/** No row yet: the submission keeps the stop, and the admission makes the row as CANCELLED. */
async function stopSubmission(tx: Runner, request: StopRequest): Promise<Stopped | null> {
  const row = await tx.first<{ stopped: boolean; refused: boolean }>(sql`
    SELECT stop IS NOT NULL AS stopped, refusal IS NOT NULL AS refused FROM submissions WHERE session_id = ${request.sessionId} FOR UPDATE`);
  if (row === undefined || row.refused) return null;
  const admitted = await lockRow(tx, request.sessionId); // it may have been admitted while this waited for the lock
  if (admitted !== undefined) return stopRow(tx, request, admitted);
  if (!row.stopped) {
    await tx.run(sql`UPDATE submissions SET stop = ${json(request)}::jsonb WHERE session_id = ${request.sessionId}`);
  }
  return { state: 'CANCELLED', attempt: 0, changed: !row.stopped };
}

async function stopRow(tx: Runner, request: StopRequest, row: StopRow): Promise<Stopped> {
  if (row.ended) return { state: row.state, attempt: row.attempt, changed: false };
  const isFirst = row.stop_requested_at === null;
  const isHarder = request.force && row.stop_force !== true;
  if (isFirst || isHarder) await recordStop(tx, request);
  if (row.state === 'PENDING') {
    await moveTo(tx, row, { ...request, to: 'CANCELLED' });
    return { state: 'CANCELLED', attempt: row.attempt, changed: true };
  }
  if (row.state === 'RUNNING' || row.state === 'PREEMPTING') {
    await moveTo(tx, row, { ...request, to: 'TERMINATING' });
    return { state: 'TERMINATING', attempt: row.attempt, changed: true };
  }
  if (isFirst && row.state !== 'TERMINATING') {
    const note = { kind: 'note' as const, from: null, to: null, cause: request.cause, attempt: row.attempt };
    await recordEvent(tx, { sessionId: request.sessionId, actor: request.actor, message: 'a stop was asked', ...note });
  }
  return { state: row.state, attempt: row.attempt, changed: isFirst && row.state !== 'TERMINATING' };
}

/** A PENDING row ends here and now, so no planner takes it any more; what is placed gets the stop recorded. */
export async function requestStop(tx: Runner, request: StopRequest): Promise<Stopped | null> {
  const row = await lockRow(tx, request.sessionId);
  return row === undefined ? stopSubmission(tx, request) : stopRow(tx, request, row);
}

/**
 * The session's own step to its end. A health deadline that passes after the first success ends nothing; neither does a
 * failure of the platform while it leaves for another: it waits again all the same.
 */
export async function markEnding(tx: Runner, request: Parameters<SessionStore['markEnding']>[0]): Promise<Stopped> {
  const row = await lockRow(tx, request.sessionId);
  if (row === undefined) return { state: 'ERROR', attempt: request.attempt, changed: false }; // gone with a restore
  const isOver = row.ended || row.state === 'TERMINATING' || row.attempt !== request.attempt;
  const isHealthy =
    request.cause === 'health-check' &&
    row.state === 'RUNNING' &&
    (row.health === 'healthy' || row.health === 'degraded');
  const isLeaving = row.state === 'PREEMPTING' && isPlatformFailure(request.cause);
  const isBack = row.state === 'PENDING' && request.attempt > 0; // that attempt is over
  if (isOver || isHealthy || isLeaving || isBack) return { state: row.state, attempt: row.attempt, changed: false };
  const to = row.state === 'PENDING' ? 'CANCELLED' : 'TERMINATING';
  await moveTo(tx, row, { ...request, to });
  return { state: to, attempt: row.attempt, changed: true };
}
