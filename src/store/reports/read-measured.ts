import type { Database } from '../database.js';
import type { MeasuredRow, PaidRow, ReportPeriodRead, ReportStore } from '../report-store.js';
import { sessionVisible } from '../sessions/visible.js';
import { type Sql, sql } from '../sql.js';

const SESSIONS_MAX = 1000;

export const momentOf = (ms: number): Sql => sql`${new Date(ms).toISOString()}::timestamptz`;

/**
 * The hours of each reservation with what its devices did. Counters are of whole devices, each worth its part of the
 * reservation; more was not measured than was held. Of an hour that an edge of the period cuts it takes the part that was held within.
 */
const measuredHours = ({ fromMs, untilMs }: ReportPeriodRead): Sql => sql`
  SELECT session_id, budget_id, allocated, charged, amount * inside / whole AS measured, amount * inside / whole * busy_ms / observed_ms AS used
  FROM (
    SELECT r.session_id, r.budget_id, r.allocated, r.charged, u.busy_ms, u.observed_ms::numeric,
      least(u.observed_ms::numeric * r.milli_gpus / greatest(r.gpu_count, 1), r.milli_gpus::numeric * span.whole) AS amount,
      span.whole, span.inside
    FROM gpu_use_hours u JOIN reservations r ON r.kernel_id = u.kernel_id AND r.attempt = u.attempt
    CROSS JOIN LATERAL (SELECT least(coalesce(r.released_at, now()), u.hour + interval '1 hour') AS held_until) h
    CROSS JOIN LATERAL (SELECT
      ms_of(h.held_until - greatest(r.created_at, u.hour)) AS whole,
      ms_of(least(h.held_until, ${momentOf(untilMs)}) - greatest(r.created_at, u.hour, ${momentOf(fromMs)})) AS inside) span
    WHERE u.hour > ${momentOf(fromMs)} - interval '1 hour' AND u.hour < ${momentOf(untilMs)}
      AND r.fair_share AND u.observed_ms > 0 AND span.whole > 0 AND span.inside > 0) hours`;

export const readMeasured = (db: Database, period: ReportPeriodRead): Promise<readonly MeasuredRow[]> =>
  db.rows<MeasuredRow>(sql`
    SELECT budget_id AS "budgetId", round(sum(measured))::bigint AS measured, round(sum(used))::bigint AS used
    FROM (${measuredHours(period)}) m GROUP BY budget_id ORDER BY budget_id`);

type How = Parameters<ReportStore['paidIdle']>[1];
export const readPaidIdle = (db: Database, period: ReportPeriodRead, how: How): Promise<readonly PaidRow[]> =>
  db.rows<PaidRow>(sql`
    WITH idle AS (
      SELECT session_id, sum(measured) AS measured, sum(used) AS used FROM (${measuredHours(period)}) m
      WHERE allocated AND charged GROUP BY session_id HAVING sum(used) * 100 < sum(measured) * ${how.belowPercent}::numeric)
    SELECT i.session_id AS "sessionId", s.name, u.name AS user, d.name || '/' || p.name AS project, s.budget_id AS "budgetId",
      coalesce(c.paid, 0) AS paid, round(i.measured)::bigint AS measured, round(i.used)::bigint AS used
    FROM idle i JOIN sessions s ON s.id = i.session_id JOIN users u ON u.id = s.user_id
    JOIN projects p ON p.id = s.project_id JOIN domains d ON d.id = s.domain_id
    CROSS JOIN LATERAL (
      SELECT sum(r.milli_gpus * ${heldWithin(period)})::bigint AS paid FROM reservations r
      WHERE r.session_id = s.id AND r.fair_share AND r.allocated AND r.charged AND ${heldWithin(period)} > 0) c
    WHERE ${how.viewer === null ? sql`true` : sessionVisible(how.viewer)}
    ORDER BY i.measured - i.used DESC, i.session_id LIMIT ${SESSIONS_MAX}`);

/** Of `reservations r`, the ms that it held its GPUs within the period; 0 or less: none. */
export const heldWithin = ({ fromMs, untilMs }: ReportPeriodRead): Sql => sql`
  ms_of(least(coalesce(r.released_at, now()), ${momentOf(untilMs)}) - greatest(r.created_at, ${momentOf(fromMs)}))`;
