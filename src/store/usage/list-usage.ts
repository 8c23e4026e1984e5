import type { Page, Principal, SessionUsage } from '../../contract/index.js';
import { afterCursor, pageOfRows } from '../cursor.js';
import type { Database } from '../database.js';
import { sessionVisible } from '../sessions/visible.js';
import { allOf, type Sql, sql } from '../sql.js';
import type { UsageQuery } from '../usage-store.js';
import { ACTIVITY } from './idle-candidates.js';

/** Rates of a sample that is older than this are not live any more. */
const STALE = sql`3 * l.every_ms * interval '1 ms' + interval '5 seconds'`;

/** RFC 3339 in JSON as elsewhere: Postgres would write its own form. */
const iso = (moment: Sql): Sql => sql`to_char(${moment} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const DEVICES = sql`
  SELECT coalesce(jsonb_agg(jsonb_build_object('id', v.id, 'node', v.node, 'model', v.model, 'simulated', v.simulated,
    'busyPercent', CASE WHEN l.is_live THEN (told.value->>'busyPercent')::real END, 'memoryBytes', (told.value->>'memoryBytes')::bigint,
    'promisedBytes', coalesce(h.memory_bytes, v.memory_bytes)) ORDER BY v.device_index), '[]') AS list
  FROM device_holds h JOIN devices v ON v.node = h.node AND v.id = h.device_id
  LEFT JOIN LATERAL (SELECT t.value FROM jsonb_array_elements(l.devices) t WHERE t.value->>'id' = h.device_id) told ON true
  WHERE h.kernel_id = k.id AND h.attempt = s.attempt`;

const KERNELS = sql`
  SELECT coalesce(jsonb_agg(jsonb_build_object('kernelId', k.id, 'role', k.role, 'node', r.node, 'measuredAt', ${iso(sql`l.at`)},
    'cpuMilli', CASE WHEN l.is_live THEN l.cpu_milli END, 'cpuMilliPromised', k.cpu_milli, 'memoryBytes', l.memory_bytes,
    'memoryBytesPromised', k.memory_bytes, 'receivedBytes', l.received_bytes, 'sentBytes', l.sent_bytes, 'devices', d.list)
    ORDER BY k.rank), '[]') AS kernels
  FROM kernels k LEFT JOIN reservations r ON r.kernel_id = k.id AND r.attempt = s.attempt
  LEFT JOIN LATERAL (SELECT l.*, l.at > now() - (${STALE}) AS is_live FROM usage_samples l
    WHERE l.kernel_id = k.id AND l.attempt = s.attempt ORDER BY l.at DESC LIMIT 1) l ON true
  CROSS JOIN LATERAL (${DEVICES}) d
  WHERE k.session_id = s.id`;

/** The verdict of the attempt that runs; none once the group has no policy for its kind any more. */
export const IDLE = sql`
  SELECT i.verdict FROM session_idle i JOIN resource_groups g ON g.name = s.group_name
  WHERE i.session_id = s.id AND i.attempt = s.attempt AND s.state = 'RUNNING' AND g.policy->'idle' ? s.kind`;

const inProject = (project: string): Sql => sql`${project} IN (p.name, d.name || '/' || p.name)`;

/** Of running sessions, in one read; a kernel without measurements has nulls. */
export async function listUsage(db: Database, query: UsageQuery, viewer: Principal): Promise<Page<SessionUsage>> {
  const after = afterCursor(query, { created: sql`s.created_at`, id: sql`s.id`, newestFirst: true });
  const where = allOf([
    sql`s.state IN ('RUNNING', 'PREEMPTING')`,
    sessionVisible(viewer),
    after,
    ...(query.group === undefined ? [] : [sql`s.group_name = ${query.group}`]),
    ...(query.project === undefined ? [] : [inProject(query.project)]),
    ...(query.user === undefined ? [] : [sql`u.name = ${query.user}`]),
  ]);
  const rows = await db.rows<SessionUsage & { readonly id: string }>(sql`
    SELECT s.id, s.id AS "sessionId", s.name, s.kind, u.name AS user, p.name AS project, s.group_name AS "group", s.started_at AS "startedAt",
      s.created_at AS "createdAt", a.in_flight AS "requestsInFlight", a.last_at AS "lastRequestAt", k.kernels, (${IDLE}) AS idle
    FROM sessions s JOIN users u ON u.id = s.user_id JOIN projects p ON p.id = s.project_id JOIN domains d ON d.id = s.domain_id
    CROSS JOIN LATERAL (${KERNELS}) k CROSS JOIN LATERAL (${ACTIVITY}) a
    WHERE ${where} ORDER BY s.created_at DESC, s.id DESC LIMIT ${query.limit + 1}`);
  return pageOfRows(rows, query, { item: ({ id: _, ...item }) => item, key: (row) => [row.createdAt, row.sessionId] });
}
