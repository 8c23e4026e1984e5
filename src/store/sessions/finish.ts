import type { EndCause, SessionId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { noteFailedStart } from '../nodes/failed-starts.js';
import { recordEvent } from '../record-event.js';
import type { Finished } from '../session-store.js';
import { sql } from '../sql.js';
import { isPlatformFailure } from './outcome.js';
import { putBack, putBackBefore } from './put-back.js';
import { dependentGroups } from './read-dependencies.js';
import { type EndRow, factsOf, readEnd } from './read-end.js';
import { acknowledgeNodes, release, waiveCharge } from './release.js';
import { type Settlement, settle } from './settlement.js';

type Shown = Pick<EndRow, 'id' | 'state' | 'result' | 'cause' | 'message' | 'exit_code' | 'group_name' | 'ended_at'>;

const answerOf = async (tx: Runner, row: Shown): Promise<Finished> => ({
  state: row.state,
  result: row.result,
  cause: row.cause,
  message: row.message,
  exitCode: row.exit_code,
  group: row.group_name,
  dependents: row.ended_at === null ? [] : await dependentGroups(tx, row.id),
});

type End = Extract<Settlement, { readonly next: 'end' }>;

/** Written in the transaction that releases the ledger: `nodeReleased` says that the node had let go before. */
async function end(
  tx: Runner,
  row: EndRow,
  { settlement, nodeReleased }: { readonly settlement: End; readonly nodeReleased: boolean },
): Promise<Finished> {
  const { state, result, cause } = settlement;
  const exitCode = row.started_at === null ? null : row.main_exit_code;
  const ended = await tx.first<Shown>(sql`
    UPDATE sessions SET state = ${state}, result = ${result}, cause = ${cause}, exit_code = ${exitCode},
      ended_at = now(), settled_at = now(), version = version + 1, reason = NULL, reason_class = NULL, gone_by = NULL
    WHERE id = ${row.id} RETURNING id, state, result, cause, message, exit_code, group_name, ended_at`);
  await recordEvent(tx, {
    sessionId: row.id,
    kind: 'state',
    from: row.state,
    to: state,
    cause,
    actor: 'session',
    attempt: row.attempt,
    message: row.message ?? '',
    data: { result, exitCode, nodeReleased },
  });
  return answerOf(tx, ended ?? row);
}

/** What the platform failed, or stopped within its minimum runtime, is not charged; a start that failed is held against its node. */
async function account(tx: Runner, row: EndRow, cause: EndCause): Promise<{ readonly charged: boolean }> {
  const isFailure = isPlatformFailure(cause);
  const isBroken = row.state === 'PREEMPTING' && row.preempt_breaks_min;
  if (isFailure || isBroken) await waiveCharge(tx, row.id, row.attempt);
  if (isFailure && row.started_at === null) await noteFailedStart(tx, row, cause);
  return { charged: !isFailure && !isBroken };
}

async function settleRow(tx: Runner, row: EndRow, nodeReleased: boolean): Promise<Finished> {
  await release(tx, row.id, nodeReleased);
  const settlement = settle(factsOf(row));
  const { charged } = await account(tx, row, settlement.cause);
  if (settlement.next === 'end') return end(tx, row, { settlement, nodeReleased });
  const told = await putBack(tx, row, { settlement, charged });
  return { ...told, state: 'PENDING', result: 'none', exitCode: null, group: row.group_name, dependents: [] };
}

/** The attempt was over before: what was answered then, or what the row says now. */
async function settledBefore(tx: Runner, row: EndRow, attempt: number): Promise<Finished> {
  if (row.ended_at !== null) {
    await tx.run(sql`UPDATE sessions SET settled_at = now() WHERE id = ${row.id} AND settled_at IS NULL`);
  }
  const answer = await answerOf(tx, row);
  const isBack = row.state === 'PENDING' && row.attempt <= attempt;
  return isBack ? { ...answer, ...(await putBackBefore(tx, row)) } : answer;
}

/** Its row is gone, as after a restore of the ledger to a moment before it: nothing is held, and its workflow may end. */
const GONE: Finished = {
  state: 'ERROR',
  result: 'platform-failure',
  cause: null,
  message: null,
  exitCode: null,
  group: '',
  dependents: [],
};

/** The ledger's release, and the session's end or its return to the queue. A second call answers what was recorded. */
export async function finish(
  tx: Runner,
  sessionId: SessionId,
  { attempt, nodeReleased }: { readonly attempt: number; readonly nodeReleased: boolean },
): Promise<Finished> {
  const row = await readEnd(tx, sessionId);
  if (row === undefined) return GONE;
  const isOver = row.ended_at !== null || row.state === 'PENDING' || row.attempt > attempt;
  const finished = isOver ? await settledBefore(tx, row, attempt) : await settleRow(tx, row, nodeReleased);
  if (nodeReleased) await acknowledgeNodes(tx, sessionId, Math.min(attempt, row.attempt));
  return finished;
}

/** For a row whose workflow is gone: the cause is the first one that was recorded, else `cause`. */
export async function endOrphan(tx: Runner, sessionId: SessionId, cause: EndCause): Promise<void> {
  const row = await readEnd(tx, sessionId);
  if (row === undefined) return;
  if (row.ended_at !== null) {
    await settledBefore(tx, row, row.attempt);
    return;
  }
  await release(tx, sessionId, false);
  await tx.run(sql`DELETE FROM room_holds WHERE session_id = ${sessionId}`);
  const orphaned = settle({ ...factsOf(row), state: 'TERMINATING', stopAsked: true, cause: row.cause ?? cause });
  if (orphaned.next !== 'end') throw new Error('an orphan ends');
  await account(tx, row, orphaned.cause);
  await end(tx, row, { settlement: orphaned, nodeReleased: false });
}
