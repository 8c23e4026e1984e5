import type { Refusal, SessionId } from '../../contract/index.js';
import type { StoreContext } from '../context.js';
import type { Runner } from '../database.js';
import type { SessionStore } from '../session-store.js';
import { json, sql } from '../sql.js';
import { begin } from './begin.js';
import { finish } from './finish.js';
import { insertPending } from './insert-pending.js';
import { markRunning } from './mark-running.js';
import { beginNotice } from './notice.js';
import { openPlacement } from './placement.js';
import { createSessionQueries } from './queries.js';
import { previewAdmission, readAdmission } from './read-admission.js';
import { markEnding, requestStop } from './stop.js';

export function createSessionStore({ db, notifier, nodeCache }: StoreContext): SessionStore {
  /** One transaction; listeners are told after it. */
  const change = async <Result>(sessionId: SessionId, work: (tx: Runner) => Promise<Result>): Promise<Result> => {
    const result = await db.transaction(work);
    notifier.changed([sessionId]);
    return result;
  };
  return {
    ...createSessionQueries(db),
    readAdmission: (sessionId) => readAdmission(db, nodeCache, sessionId),
    previewAdmission: (submission) => previewAdmission(db, nodeCache, submission),
    insertPending: (context, kernels, budgetId = null) =>
      change(context.submission.sessionId, (tx) => insertPending(tx, context, { kernels, budgetId })),
    recordRefusal: async (sessionId, refusal) => {
      await db.run(sql`
        UPDATE submissions SET refusal = coalesce(refusal, ${json(refusal)}::jsonb), answered_at = coalesce(answered_at, now())
        WHERE session_id = ${sessionId} AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = ${sessionId})`);
    },
    refusalOf: async (sessionId) => {
      const row = await db.first<{ refusal: Refusal | null }>(
        sql`SELECT refusal FROM submissions WHERE session_id = ${sessionId}`,
      );
      return row?.refusal ?? null;
    },
    begin: (sessionId, attempt) => change(sessionId, (tx) => begin(tx, sessionId, attempt)),
    openPlacement: (sessionId) => db.transaction((tx) => openPlacement(tx, sessionId), 'snapshot'),
    markRunning: (sessionId, attempt) => change(sessionId, (tx) => markRunning(tx, sessionId, attempt)),
    beginNotice: (sessionId, attempt) => change(sessionId, (tx) => beginNotice(tx, sessionId, attempt)),
    markEnding: (request) => change(request.sessionId, (tx) => markEnding(tx, request)),
    finish: (sessionId, attempt, nodeReleased) =>
      change(sessionId, (tx) => finish(tx, sessionId, { attempt, nodeReleased })),
    requestStop: (request) => change(request.sessionId, (tx) => requestStop(tx, request)),
  };
}
