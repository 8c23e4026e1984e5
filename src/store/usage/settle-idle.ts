import type { Database, Runner } from '../database.js';
import { recordEvent } from '../record-event.js';
import { requestStop } from '../sessions/stop.js';
import { json, sql } from '../sql.js';
import type { DueSignal } from '../store.js';
import type { IdleOrder } from '../usage-store.js';
import { ACTIVITY, seenOf } from './idle-candidates.js';

const ACTOR = 'idle';

/** In one statement, and only what says something else than before: most sessions stand where they stood. */
const writeVerdicts = (tx: Runner, orders: readonly IdleOrder[]): Promise<number> =>
  tx.run(sql`
    INSERT INTO session_idle AS i (session_id, attempt, verdict, warned_at)
    SELECT n.id, n.attempt, n.verdict, n.warned FROM jsonb_to_recordset(${json(
      orders.map(({ candidate, verdict }) => ({
        id: candidate.sessionId,
        attempt: candidate.attempt,
        verdict,
        warned: verdict.warnedAt,
      })),
    )}::jsonb) AS n(id text, attempt int, verdict jsonb, warned timestamptz)
    JOIN sessions s ON s.id = n.id AND s.attempt = n.attempt AND s.state = 'RUNNING'
    ON CONFLICT (session_id) DO UPDATE SET attempt = excluded.attempt, verdict = excluded.verdict, checked_at = now(),
      warned_at = CASE WHEN i.attempt = excluded.attempt AND excluded.warned_at IS NOT NULL THEN coalesce(i.warned_at, excluded.warned_at)
        ELSE excluded.warned_at END
    WHERE (i.attempt, i.verdict) IS DISTINCT FROM (excluded.attempt, excluded.verdict)`);

/** Once for each warning: the row says whether it was given. */
async function tell(tx: Runner, { candidate, verdict, step }: IdleOrder): Promise<boolean> {
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
  await writeVerdicts(tx, [{ candidate, verdict, step }]);
  return true;
}

/** Plan purely, commit conditionally: nothing was measured, asked or decided since. Else the next look decides. */
async function end(tx: Runner, { candidate, verdict, step }: IdleOrder): Promise<DueSignal | null> {
  const { sessionId, attempt, seen, kind } = candidate;
  const holds = await tx.first(sql`
    SELECT 1 FROM sessions s JOIN resource_groups g ON g.name = s.group_name CROSS JOIN LATERAL (${ACTIVITY}) a
    CROSS JOIN LATERAL (SELECT max(u.at) AS last_at FROM kernels k JOIN usage_samples u ON u.kernel_id = k.id AND u.attempt = s.attempt
      WHERE k.session_id = s.id AND k.exited_at IS NULL) k
    WHERE s.id = ${sessionId} AND s.attempt = ${attempt} AND s.state = 'RUNNING' AND s.stop_requested_at IS NULL
      AND a.in_flight = ${candidate.requests.inFlight} AND ${seenOf(sql`k.last_at`, sql`a.last_at`)} = ${seen}
      AND g.policy->'idle'->${kind}::text = ${json(candidate.rule)}::jsonb
    FOR NO KEY UPDATE OF s`);
  if (holds === undefined) return null;
  await writeVerdicts(tx, [{ candidate, verdict, step }]);
  const request = { sessionId, cause: 'idle-timeout' as const, actor: ACTOR, message: verdict.message };
  await requestStop(tx, { ...request, graceMs: null, force: false });
  return { sessionId, kind: 'stop', attempt };
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
