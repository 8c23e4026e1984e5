import type { Charge } from '../../budgets/budget-facts.js';
import type { BudgetId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import { readMoment, windowOf } from './for-group.js';
import { instant } from './read-gpu-time.js';
import { readSettings } from './settings.js';

/** Attempts of sessions that these budgets, or closed ones below them, were charged for within the window: the largest first. */
export async function readCharges(tx: Runner, leafIds: readonly BudgetId[], limit: number): Promise<readonly Charge[]> {
  const at = await readMoment(tx);
  const { windowMs, halfLifeMs } = windowOf(await readSettings(tx), at);
  const from = sql`${instant(Date.parse(at) - windowMs)}::timestamptz`;
  const age = (moment: ReturnType<typeof sql>) =>
    sql`power(0.5::float8, least(1000, ms_of(${at}::timestamptz - ${moment}) / ${halfLifeMs}::float8))`;
  const until = sql`least(r.released_at, ${at}::timestamptz)`;
  const since = sql`greatest(r.created_at, ${from})`;
  const weight =
    halfLifeMs === null
      ? sql`ms_of(${until} - ${since})`
      : sql`(${age(until)} - ${age(since)}) * ${halfLifeMs}::float8 / ln(2::float8)`;
  return tx.rows<Charge>(sql`
    SELECT c.session_id AS "sessionId", s.name, u.name AS user, c.budget_id AS "budgetId", c."milliGpus", c."from", c.until, c."gpuTime"
    FROM (
      SELECT r.session_id, r.attempt, r.budget_id, sum(r.milli_gpus)::bigint AS "milliGpus", min(r.created_at) AS "from",
        CASE WHEN bool_and(r.released_at IS NOT NULL) THEN max(r.released_at) END AS until,
        round(sum(r.milli_gpus * ${weight}))::bigint AS "gpuTime"
      FROM reservations r JOIN budget_homes h ON h.id = r.budget_id
      WHERE r.allocated AND r.charged AND h.home = ANY(${leafIds}::text[]) AND (r.released_at IS NULL OR r.released_at > ${from})
        AND ${until} > ${since}
      GROUP BY r.session_id, r.attempt, r.budget_id ORDER BY "gpuTime" DESC, r.session_id, r.attempt LIMIT ${limit}) c
    JOIN sessions s ON s.id = c.session_id JOIN users u ON u.id = s.user_id
    ORDER BY c."gpuTime" DESC, c.session_id, c.attempt`);
}
