import type { ScaleMetric } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { type Sql, sql } from '../sql.js';
import { inFlight, isServing, TRAFFIC_SECONDS_MAX } from './sql-words.js';

/** A series or measurement that is older says nothing. */
const SERIES_SECONDS_MAX = 30;
const MEASURED_SECONDS_MAX = 120;

const age = (moment: Sql, secondsMax: number): Sql =>
  sql`(${moment} > now() - ${secondsMax}::int * interval '1 second')`;

/** Replicas that serve, of one deployment. */
const serving = (deploymentId: string): Sql =>
  sql`deployment_places p WHERE p.deployment_id = ${deploymentId} AND p.closed_at IS NULL AND ${isServing}`;

/** No gateway was heard of: what they see is not known. */
const unlessSilent = (value: Sql): Sql =>
  sql`CASE WHEN EXISTS (SELECT 1 FROM traffic_gateways g WHERE ${age(sql`g.told_at`, TRAFFIC_SECONDS_MAX)}) THEN ${value} END`;

/** Shared by those that serve; of one that does not serve, all of it. */
const each = (deploymentId: string, total: Sql): Sql =>
  sql`${total} / greatest(1, (SELECT count(*) FROM ${serving(deploymentId)}))`;

const AGGREGATES = { average: sql`avg`, sum: sql`sum`, max: sql`max` } as const;

function valueOf(deploymentId: string, metric: Exclude<ScaleMetric, { kind: 'prometheus' }>): Sql {
  const traffic = sql`deployment_traffic t WHERE t.deployment_id = ${deploymentId}`;
  switch (metric.kind) {
    case 'replica':
      return sql`(SELECT ${AGGREGATES[metric.aggregate]}((SELECT (m.series->>${metric.series})::float8 FROM replica_metrics m
        WHERE m.session_id = p.session_id AND m.attempt = p.attempt AND ${age(sql`m.told_at`, SERIES_SECONDS_MAX)}))
        FROM ${serving(deploymentId)})`;
    case 'requests-in-flight':
      return unlessSilent(
        each(deploymentId, sql`(SELECT coalesce(sum(${inFlight}), 0)::float8 FROM ${serving(deploymentId)})`),
      );
    case 'requests-per-second':
      return unlessSilent(
        each(
          deploymentId,
          sql`(SELECT coalesce(sum(t.per_second * exp(-least(600, extract(epoch FROM now() - t.told_at)) / 10)), 0)::float8 FROM ${traffic})`,
        ),
      );
    case 'queue-length':
      return unlessSilent(
        sql`(SELECT coalesce(sum(t.queued), 0)::float8 FROM ${traffic} AND ${age(sql`t.queued_at`, TRAFFIC_SECONDS_MAX)})`,
      );
    case 'gpu-utilization':
      return sql`(SELECT avg((v.value->>'busyPercent')::float8) FROM deployment_places p CROSS JOIN LATERAL (
          SELECT u.devices FROM usage_samples u WHERE u.kernel_id = p.kernel_id AND u.attempt = p.attempt
            AND ${age(sql`u.at`, MEASURED_SECONDS_MAX)} ORDER BY u.at DESC LIMIT 1) l CROSS JOIN LATERAL jsonb_array_elements(l.devices) v
        WHERE p.deployment_id = ${deploymentId} AND p.closed_at IS NULL AND ${isServing})`;
  }
}

/** Null: missing. A Prometheus query is none of the ledger's: always missing here. */
export async function metricValue(tx: Runner, deploymentId: string, metric: ScaleMetric): Promise<number | null> {
  if (metric.kind === 'prometheus') return null;
  const row = await tx.first<{ value: number | null }>(sql`SELECT (${valueOf(deploymentId, metric)})::float8 AS value`);
  return row?.value ?? null;
}
