import type { CreateSession, SessionId, SessionState } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { recordEvent } from '../record-event.js';
import type { SessionStore } from '../session-store.js';
import { sql } from '../sql.js';
import { mountRefusal } from './mount-rights.js';
import { readPlacement } from './placement.js';
import { moveTo } from './stop.js';

interface StateRow {
  readonly state: SessionState;
  readonly attempt: number;
  readonly spec: CreateSession;
  readonly stop_requested_at: string | null;
}

const ENDING: ReadonlySet<SessionState> = new Set(['PREEMPTING', 'TERMINATING', 'TERMINATED', 'CANCELLED', 'ERROR']);

/**
 * The session's first step, at each attempt. Whoever changes the row first wins: this, or a stop. What its user may no longer
 * do with a mounted folder refuses the start, with the reason.
 */
export async function begin(tx: Runner, sessionId: SessionId, attempt: number): ReturnType<SessionStore['begin']> {
  const begun = await tx.first<StateRow>(sql`
    UPDATE sessions SET state = 'PREPARING', version = version + 1, reason_since = now()
    WHERE id = ${sessionId} AND state = 'SCHEDULED' AND attempt = ${attempt} AND stop_requested_at IS NULL
    RETURNING state, attempt, spec, stop_requested_at`);
  if (begun !== undefined) {
    const change = { from: 'SCHEDULED', to: 'PREPARING', cause: 'begun', actor: 'session' };
    await recordEvent(tx, { sessionId, kind: 'state', attempt, ...change });
    const refusal = await mountRefusal(tx, sessionId);
    if (refusal === null) return { outcome: 'go', placement: await readPlacement(tx, sessionId, begun) };
    const ending = { sessionId, cause: 'folder-denied', message: refusal, actor: 'session' } as const;
    await moveTo(tx, begun, { ...ending, to: 'TERMINATING' });
    return { outcome: 'stop' };
  }
  const row = await tx.first<StateRow>(
    sql`SELECT state, attempt, spec, stop_requested_at FROM sessions WHERE id = ${sessionId}`,
  );
  if (row === undefined || row.attempt !== attempt) return { outcome: 'stale' };
  if (row.stop_requested_at !== null || ENDING.has(row.state)) return { outcome: 'stop' };
  if (row.state !== 'PREPARING') return { outcome: 'stale' };
  return { outcome: 'go', placement: await readPlacement(tx, sessionId, row) };
}
