import type { Database, Runner } from '../database.js';
import { recordEvent } from '../record-event.js';
import { requestStop } from '../sessions/stop.js';
import { json, sql } from '../sql.js';
import type { DueSignal } from '../store.js';
import type { IdleOrder } from '../usage-store.js';
import { seenOf } from './idle-candidates.js';

const ACTOR = 'idle';

/** In one statement, and only what says something else than before. */
const writeVerdicts = (tx: Runner, orders: readonly IdleOrder[]): Promise<number> =>
  tx.run(sql`
    INSERT INTO session_idle AS i (session_id, attempt, verdict, warned_at, seen, look_at)
    SELECT n.id, n.attempt, n.verdict, n.warned, n.seen, to_timestamp(n.look / 1000) FROM jsonb_to_recordset(${json(
      orders.map(({ candidate, verdict, nextLookMs }) => ({
        id: candidate.sessionId,
        attempt: candidate.attempt,
        verdict,
        warned: verdict.warnedAt,
        seen: candidate.seen,
        look: nextLookMs,
      })),
    )}::jsonb) AS n(id text, attempt int, verdict jsonb, warned timestamptz, seen text, look float8)
    JOIN sessions s ON s.id = n.id AND s.attempt = n.attempt AND s.state = 'RUNNING'
    ON CONFLICT (session_id) DO UPDATE SET attempt = excluded.attempt, verdict = excluded.verdict, seen = excluded.seen, look_at = excluded.look_at,
      checked_at = now(),
      warned_at = CASE WHEN i.attempt = excluded.attempt AND excluded.warned_at IS NOT NULL THEN coalesce(i.warned_at, excluded.warned_at)
        ELSE excluded.warned_at END
    WHERE (i.attempt, i.verdict, i.seen, i.look_at) IS DISTINCT FROM (excluded.attempt, excluded.verdict, excluded.seen, excluded.look_at)`);

/** Once for each warning: the row says whether it was given. */
async function tell(tx: Runner, order: IdleOrder): Promise<boolean> {
  const { candidate, verdict, step } = order;
  const { sessionId, attempt } = candidate;
  const row = await tx.first<{ warned: boolean }>(sql`
    SELECT i.warned_at IS NOT NULL AS warned FROM sessions s LEFT JOIN session_idle i ON i.session_id = s.id AND i.attempt = s.attempt
    WHERE s.id = ${sessionId} AND s.attempt = ${attempt} AND s.state = 'RUNNING' FOR NO KEY UPDATE OF s`);
  if (row === undefined || row.warned === (step === 'warn')) return false;
  await recordEvent(tx, {
    sessionId,
    kind: 'note',
    from: null,
    to: null,
    cause: step === 'warn' ? 'idle-warning' : 'idle-over',
    actor: ACTOR,
    attempt,
    message: verdict.message,
    data: { reclaimAt: verdict.reclaimAt, since: verdict.since, findings: verdict.findings },
  });
  await writeVerdicts(tx, [order]);
  return true;
}

/** Plan purely, commit conditionally: nothing was measured, asked or decided since. Else the next look decides. */
async function end(tx: Runner, order: IdleOrder): Promise<DueSignal | null> {
  const { sessionId, attempt, seen } = order.candidate;
  const holds = await tx.first(sql`
    SELECT 1 FROM sessions s JOIN resource_groups g ON g.name = s.group_name
    CROSS JOIN LATERAL (${seenOf(sql`g.policy->'idle'->s.kind`)}) n
    WHERE s.id = ${sessionId} AND s.attempt = ${attempt} AND s.state = 'RUNNING' AND s.stop_requested_at IS NULL AND n.seen = ${seen}
    FOR NO KEY UPDATE OF s`);
  if (holds === undefined) return null;
  await writeVerdicts(tx, [order]);
  const request = { sessionId, cause: 'idle-timeout' as const, actor: ACTOR, message: order.verdict.message };
  await requestStop(tx, { ...request, graceMs: null, force: false });
  return { sessionId, kind: 'stop', attempt };
}

export async function forgetIdle(db: Runner): Promise<void> {
  await db.run(sql`DELETE FROM session_idle i USING sessions s JOIN resource_groups g ON g.name = s.group_name
    WHERE s.id = i.session_id AND (s.state <> 'RUNNING' OR NOT g.policy->'idle' ? s.kind)`);
}

/** What changed, and for whom somebody may wait. */
export async function settleIdle(
  db: Database,
  orders: readonly IdleOrder[],
): Promise<{ readonly signals: readonly DueSignal[]; readonly changed: readonly string[] }> {
  const signals: DueSignal[] = [];
  const changed: string[] = [];
  const quiet = orders.filter(({ step }) => step === 'none');
  if (quiet.length > 0) await writeVerdicts(db, quiet);
  for (const order of orders) {
    if (order.step === 'none') continue;
    const { sessionId } = order.candidate;
    if (order.step !== 'end') {
      if (await db.transaction((tx) => tell(tx, order))) changed.push(sessionId);
      continue;
    }
    const signal = await db.transaction((tx) => end(tx, order));
    if (signal !== null) signals.push(signal);
  }
  return { signals, changed: [...changed, ...signals.map(({ sessionId }) => sessionId)] };
}
