import type { IdleCriterion, IdlePolicy, SessionId, SessionKind } from '../../contract/index.js';
import { idlePolicySchema } from '../../contract/index.js';
import { GATEWAY_GAP_MS } from '../../lifecycle/measurement-gap.js';
import type { MeasuredKernel } from '../../scheduler/idle-subject.js';
import type { Runner } from '../database.js';
import { type Sql, sql } from '../sql.js';
import type { IdleCandidate } from '../usage-store.js';

const ms = (moment: Sql): Sql => sql`(extract(epoch FROM ${moment}) * 1000)::bigint`;

/** The gateways report without a gap since then; null while one of them is silent, or while there is none. */
export const COVERED_SINCE = sql`
  SELECT CASE WHEN bool_and(reported_at > now() - ${GATEWAY_GAP_MS}::float8 * interval '1 ms') THEN min(since) END AS covered
  FROM activity_gateways`;

/** In flight only by the word of a gateway that reports still: connections end with the gateway that had them. */
export const ACTIVITY = sql`
  SELECT coalesce(sum(a.in_flight) FILTER (WHERE g.reported_at > now() - ${GATEWAY_GAP_MS}::float8 * interval '1 ms'), 0)::int AS in_flight,
    max(a.last_at) AS last_at
  FROM app_activity a LEFT JOIN activity_gateways g ON g.gateway = a.gateway WHERE a.session_id = s.id`;

/** Newest value, and since when it is below the threshold: its last sample that is not, else the segment's first. */
const measured = (column: Sql, threshold: string): Sql => sql`
  jsonb_build_object('value', (array_agg(${column} ORDER BY u.at DESC))[1], 'lowSinceMs', ${ms(sql`coalesce(max(u.at) FILTER (WHERE
    ${column} IS NULL OR ${column} >= (s.rule->'utilization'->>${threshold})::real), min(u.at))`)})`;

const KERNELS = sql`
  SELECT coalesce(jsonb_agg(jsonb_build_object('lastAtMs', ${ms(sql`m.last_at`)}, 'everyMs', coalesce(m.every_ms, 60000),
      'cpu', coalesce(m.cpu, s.unknown), 'memory', coalesce(m.memory, s.unknown),
      'gpu', CASE WHEN d.held THEN coalesce(m.gpu, s.unknown) END, 'gpuMemory', CASE WHEN d.held THEN coalesce(m.gpu_memory, s.unknown) END)
      ORDER BY k.rank), '[]') AS kernels
  FROM kernels k CROSS JOIN LATERAL (SELECT EXISTS (SELECT 1 FROM device_holds h
      WHERE h.kernel_id = k.id AND h.attempt = s.attempt) AS held) d
  LEFT JOIN LATERAL (
    SELECT max(u.at) AS last_at, (array_agg(u.every_ms ORDER BY u.at DESC))[1] AS every_ms, ${measured(sql`u.cpu_milli`, 'cpuMilli')} AS cpu,
      ${measured(sql`u.memory_percent`, 'memoryPercent')} AS memory, ${measured(sql`u.gpu_percent`, 'gpuPercent')} AS gpu,
      ${measured(sql`u.gpu_memory_percent`, 'gpuMemoryPercent')} AS gpu_memory
    FROM usage_samples u WHERE u.kernel_id = k.id AND u.attempt = s.attempt AND u.segment =
      (SELECT l.segment FROM usage_samples l WHERE l.kernel_id = k.id AND l.attempt = s.attempt ORDER BY l.at DESC LIMIT 1)
    HAVING count(*) > 0) m ON true
  WHERE k.session_id = s.id AND k.exited_at IS NULL`;

interface Row {
  readonly sessionId: SessionId;
  readonly attempt: number;
  readonly kind: SessionKind;
  readonly project: string;
  readonly rule: unknown;
  readonly startedAtMs: number;
  readonly minRuntimeMs: number;
  readonly exemptions: readonly IdleCriterion[] | null;
  readonly hasPorts: boolean;
  readonly kernels: readonly MeasuredKernel[];
  readonly inFlight: number;
  readonly lastRequestMs: number | null;
  readonly coveredSinceMs: number | null;
  readonly warnedAtMs: number | null;
  readonly seen: string;
  readonly nowMs: number;
}

/** Of `sessions s` and its group's policy: all that a verdict rests on. Some index lookups, however many samples there are. */
export const seenOf = (rule: Sql): Sql => sql`
  SELECT md5(concat_ws(' ', ${rule}::text, a.in_flight, a.last_at, c.covered, (SELECT max(l.at) FROM kernels k
    CROSS JOIN LATERAL (SELECT u.at FROM usage_samples u WHERE u.kernel_id = k.id AND u.attempt = s.attempt ORDER BY u.at DESC LIMIT 1) l
    WHERE k.session_id = s.id AND k.exited_at IS NULL))) AS seen
  FROM (${ACTIVITY}) a CROSS JOIN (${COVERED_SINCE}) c`;

/** A deployment's replica that is not preemptible leaves by the owner's count or its rules alone. */
const IS_KEPT = sql`(NOT s.preemptible AND EXISTS (SELECT 1 FROM deployment_replicas r WHERE r.session_id = s.id))`;

const rowsAfter = (db: Runner, after: SessionId | null, limit: number): Promise<Row[]> =>
  db.rows<Row>(sql`
    WITH running AS (
      SELECT s.*, g.policy->'idle'->s.kind AS rule, jsonb_build_object('value', NULL, 'lowSinceMs', ${ms(sql`now()`)}) AS unknown,
        i.warned_at, n.seen
      FROM sessions s JOIN resource_groups g ON g.name = s.group_name CROSS JOIN LATERAL (${seenOf(sql`g.policy->'idle'->s.kind`)}) n
      LEFT JOIN session_idle i ON i.session_id = s.id AND i.attempt = s.attempt
      WHERE s.state = 'RUNNING' AND s.stop_requested_at IS NULL AND s.started_at IS NOT NULL AND g.policy->'idle' ? s.kind AND NOT ${IS_KEPT}
        AND (i.seen IS DISTINCT FROM n.seen OR i.look_at <= now()) AND s.id > ${after ?? ''} ORDER BY s.id LIMIT ${limit})
    SELECT s.id AS "sessionId", s.attempt, s.kind, d.name || '/' || p.name AS project, s.rule, ${ms(sql`s.started_at`)} AS "startedAtMs",
      s.min_runtime_ms AS "minRuntimeMs", s.spec->'idleExemptions' AS exemptions,
      coalesce(jsonb_array_length(s.spec->'ports'), 0) > 0 AS "hasPorts", k.kernels, a.in_flight AS "inFlight",
      ${ms(sql`a.last_at`)} AS "lastRequestMs", ${ms(sql`c.covered`)} AS "coveredSinceMs", ${ms(sql`s.warned_at`)} AS "warnedAtMs", s.seen, ${ms(sql`now()`)} AS "nowMs"
    FROM running s JOIN projects p ON p.id = s.project_id JOIN domains d ON d.id = p.domain_id
    CROSS JOIN LATERAL (${KERNELS}) k CROSS JOIN LATERAL (${ACTIVITY}) a CROSS JOIN (${COVERED_SINCE}) c
    ORDER BY s.id`);

function toCandidate(row: Row): IdleCandidate {
  const { minRuntimeMs, inFlight, lastRequestMs, coveredSinceMs, exemptions, nowMs: _, rule, ...rest } = row;
  const policy: IdlePolicy = idlePolicySchema.parse(rule);
  return {
    ...rest,
    policy,
    exemptions: exemptions ?? [],
    protectedUntilMs: row.startedAtMs + minRuntimeMs,
    requests: { inFlight, lastAtMs: lastRequestMs, coveredSinceMs },
  };
}

export async function idleCandidates(db: Runner, after: SessionId | null, limit: number) {
  const rows = await rowsAfter(db, after, limit);
  return { nowMs: rows[0]?.nowMs ?? 0, candidates: rows.map(toCandidate) };
}
