import type { EndCause, Session, SessionId, SessionState } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { recordEvent } from '../record-event.js';
import type { Finished } from '../session-store.js';
import { sql } from '../sql.js';
import { outcomeOf } from './outcome.js';

interface EndRow {
  readonly state: SessionState;
  readonly attempt: number;
  readonly result: Session['result'];
  readonly cause: EndCause | null;
  readonly exit_code: number | null;
  readonly group_name: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly message: string | null;
  readonly main_exit_code: number | null;
}

interface NodeRelease {
  readonly nodeReleased: boolean;
}

const readEnd = (tx: Runner, sessionId: SessionId): Promise<EndRow | undefined> =>
  tx.first<EndRow>(sql`
    SELECT s.state, s.attempt, s.result, s.cause, s.exit_code, s.group_name, s.started_at, s.ended_at, s.message,
      (SELECT k.exit_code FROM kernels k WHERE k.session_id = s.id AND k.rank = (
        SELECT min(rank) FROM kernels m WHERE m.session_id = s.id AND m.role = 'main')) AS main_exit_code
    FROM sessions s WHERE s.id = ${sessionId} FOR NO KEY UPDATE OF s`);

/** Each reservation ends once; its place in the node's use is folded in by the next pass. Devices in one order. */
export async function release(tx: Runner, sessionId: SessionId, nodeReleased: boolean): Promise<void> {
  await tx.run(sql`
    UPDATE reservations SET released_at = now(), node_released = ${nodeReleased}
    WHERE session_id = ${sessionId} AND released_at IS NULL`);
  await tx.run(sql`
    UPDATE device_holds h SET released_at = now()
    FROM (SELECT id FROM device_holds WHERE session_id = ${sessionId} AND released_at IS NULL ORDER BY node, device_id FOR UPDATE) mine
    WHERE h.id = mine.id AND h.released_at IS NULL`);
}

const finishedOf = (row: EndRow): Finished => ({
  state: row.state,
  result: row.result,
  cause: row.cause,
  exitCode: row.exit_code,
  group: row.group_name,
});

/** Written in the transaction that releases the ledger: `nodeReleased` says that the node had let go before. */
async function end(tx: Runner, sessionId: SessionId, row: EndRow & NodeRelease): Promise<Finished> {
  const cause = row.cause ?? 'engine-failed';
  const ran = row.started_at !== null;
  const outcome = outcomeOf(cause, ran);
  const exitCode = ran ? row.main_exit_code : null;
  await tx.run(sql`
    UPDATE sessions SET state = ${outcome.state}, result = ${outcome.result}, cause = ${cause}, exit_code = ${exitCode},
      ended_at = now(), settled_at = now(), version = version + 1, reason = NULL, reason_class = NULL
    WHERE id = ${sessionId}`);
  await recordEvent(tx, {
    sessionId,
    kind: 'state',
    from: row.state,
    to: outcome.state,
    cause,
    actor: 'session',
    attempt: row.attempt,
    message: row.message ?? '',
    data: { result: outcome.result, exitCode, nodeReleased: row.nodeReleased },
  });
  return { ...outcome, cause, exitCode, group: row.group_name };
}

/** Its row is gone, as after a restore of the ledger to a moment before it: nothing is held, and its workflow may end. */
const GONE: Finished = { state: 'ERROR', result: 'platform-failure', cause: null, exitCode: null, group: '' };

/** The ledger's release and the session's end. A second call, or one after the end, answers what was recorded. */
export async function finish(
  tx: Runner,
  sessionId: SessionId,
  { attempt, nodeReleased }: { readonly attempt: number; readonly nodeReleased: boolean },
): Promise<Finished> {
  const row = await readEnd(tx, sessionId);
  if (row === undefined) return GONE;
  if (row.ended_at === null && row.attempt > attempt) return finishedOf(row);
  await release(tx, sessionId, nodeReleased);
  if (nodeReleased) {
    await tx.run(
      sql`UPDATE reservations SET node_released = true WHERE session_id = ${sessionId} AND NOT node_released`,
    );
  }
  if (row.ended_at === null) return end(tx, sessionId, { ...row, nodeReleased });
  await tx.run(sql`UPDATE sessions SET settled_at = now() WHERE id = ${sessionId} AND settled_at IS NULL`);
  return finishedOf(row);
}

/** For a row whose workflow is gone: the cause is the first one that was recorded, else `cause`. */
export async function endOrphan(tx: Runner, sessionId: SessionId, cause: EndCause): Promise<void> {
  const row = await readEnd(tx, sessionId);
  if (row === undefined) return;
  await release(tx, sessionId, false);
  if (row.ended_at === null) await end(tx, sessionId, { ...row, cause: row.cause ?? cause, nodeReleased: false });
  else await tx.run(sql`UPDATE sessions SET settled_at = now() WHERE id = ${sessionId} AND settled_at IS NULL`);
}
