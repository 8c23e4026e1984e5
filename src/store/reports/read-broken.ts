import type { Principal } from '../../contract/index.js';
import type { Database } from '../database.js';
import type { BrokenRow, ReportPeriodRead } from '../report-store.js';
import { sessionVisible } from '../sessions/visible.js';
import { sql } from '../sql.js';
import { heldWithin, momentOf } from './read-measured.js';

const ATTEMPTS_MAX = 1000;

type Row = Omit<BrokenRow, 'startMs' | 'endMs'> & { readonly started: string | null; readonly ended: string };

/** That a minimum runtime was broken is told by the order to leave, which the history keeps; what it cost, by the reservations. */
export async function readBroken(
  db: Database,
  period: ReportPeriodRead,
  viewer: Principal | null,
): Promise<readonly BrokenRow[]> {
  const rows = await db.rows<Row>(sql`
    WITH ended AS (
      SELECT r.session_id, r.attempt, min(r.budget_id) AS budget_id, max(r.running_at) AS started, max(r.released_at) AS ended,
        sum(r.milli_gpus * greatest(0, ${heldWithin(period)}))::bigint AS time
      FROM reservations r
      WHERE r.fair_share AND r.allocated AND NOT r.charged AND r.released_at >= ${momentOf(period.fromMs)} AND r.released_at < ${momentOf(period.untilMs)}
      GROUP BY r.session_id, r.attempt)
    SELECT s.id AS "sessionId", s.name, u.name AS user, d.name || '/' || p.name AS project, e.budget_id AS "budgetId", e.attempt,
      e.started, e.ended, s.min_runtime_ms AS "minRuntimeMs", e.time
    FROM ended e JOIN sessions s ON s.id = e.session_id JOIN users u ON u.id = s.user_id
    JOIN projects p ON p.id = s.project_id JOIN domains d ON d.id = s.domain_id
    WHERE ${viewer === null ? sql`true` : sessionVisible(viewer)} AND EXISTS (
      SELECT 1 FROM session_events v WHERE v.session_id = e.session_id AND v.attempt = e.attempt
        AND v.kind = 'state' AND v.to_value = 'PREEMPTING' AND (v.data->>'breaksMinRuntime')::boolean)
    ORDER BY e.ended DESC, s.id LIMIT ${ATTEMPTS_MAX}`);
  return rows.map(({ started, ended, ...row }) => ({
    ...row,
    startMs: started === null ? null : Date.parse(started),
    endMs: Date.parse(ended),
  }));
}
