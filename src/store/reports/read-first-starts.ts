import { HELD } from '../budgets/read-gpu-time.js';
import type { Database } from '../database.js';
import type { FirstStartRow, ReportPeriodRead } from '../report-store.js';
import { sql } from '../sql.js';
import { momentOf } from './read-measured.js';

interface Row {
  readonly budgetId: string | null;
  readonly minRuntimeMs: number;
  readonly since: string;
  readonly started: string | null;
}

/**
 * An attempt runs when all its kernels run; a session's first GPU is that of its first attempt that ran. Found by the intervals of
 * the period, so it costs what ran in it. Who waits at the end of a past period is looked for among those that ended since.
 */
export async function readFirstStarts(db: Database, period: ReportPeriodRead): Promise<readonly FirstStartRow[]> {
  const from = momentOf(period.fromMs);
  const until = momentOf(period.untilMs);
  const rows = await db.rows<Row>(sql`
    WITH seen AS (
      SELECT session_id AS id FROM reservations r WHERE r.fair_share AND r.folded AND ${HELD} && tstzrange(${from}, ${until})
      UNION SELECT session_id FROM reservations r WHERE r.fair_share AND NOT r.folded AND r.created_at < ${until}
      UNION SELECT s.id FROM sessions s JOIN resource_groups g ON g.name = s.group_name
        WHERE (s.ended_at IS NULL OR s.ended_at > ${until}) AND s.submitted_at < ${until}
          AND s.gpu_count + s.gpu_memory_bytes > 0 AND coalesce(g.policy->>'order', 'fifo') = 'fair-share'),
    attempts AS (
      SELECT r.session_id, max(r.running_at) AS started FROM reservations r JOIN seen ON seen.id = r.session_id
      GROUP BY r.session_id, r.attempt HAVING bool_and(r.running_at IS NOT NULL)),
    firsts AS (SELECT seen.id, min(a.started) AS started FROM seen LEFT JOIN attempts a ON a.session_id = seen.id GROUP BY seen.id)
    SELECT s.budget_id AS "budgetId", s.min_runtime_ms AS "minRuntimeMs", greatest(s.submitted_at, s.starts_at) AS since,
      CASE WHEN f.started < ${until} THEN f.started END AS started
    FROM firsts f JOIN sessions s ON s.id = f.id
    WHERE f.started >= ${from} AND f.started < ${until}
      OR (f.started IS NULL OR f.started >= ${until}) AND greatest(s.submitted_at, s.starts_at) < ${until}
        AND (s.ended_at IS NULL OR s.ended_at > ${until})
    ORDER BY s.id`);
  return rows.map(({ since, started, ...row }) => ({
    ...row,
    sinceMs: Date.parse(since),
    startedMs: started === null ? null : Date.parse(started),
  }));
}
