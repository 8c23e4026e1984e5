import type { Runner } from '../database.js';
import type { DeploymentSnapshot, ReplicaRow } from '../deployment-store.js';
import { ms } from '../models/sql-words.js';
import { sql } from '../sql.js';
import { metricValue } from './metric-value.js';
import { inFlight, isDrained, isRefused, whyNot } from './sql-words.js';

type Row = Omit<DeploymentSnapshot, 'metrics' | 'prometheus' | 'replicas' | 'failures' | 'drainMs'>;

/** A node's doing, or its absence; what went wrong on a node counts as the replica's own where it never served. */
const FAULT = sql`
  CASE WHEN NOT (p.route = 'ENDED' OR p.health = 'unhealthy') THEN NULL
    WHEN p.cause IN ('node-lost', 'drained', 'preempted', 'max-runtime') OR p.session_state = 'PREEMPTING'
      OR (p.is_lost AND p.session_health IS DISTINCT FROM 'unhealthy' AND p.cause IS NULL) THEN 'platform'
    WHEN p.cause IN ('user-stop', 'operator-stop', 'idle-timeout') THEN 'asked'
    WHEN p.serving_at IS NOT NULL AND p.cause IN ('engine-failed', 'workflow-lost', 'device-unavailable', 'port-taken', 'folder-refused') THEN 'platform'
    ELSE 'own' END`;

const readRow = (tx: Runner, deploymentId: string): Promise<Row | undefined> =>
  tx.first<Row>(sql`
    SELECT d.id, d.name, d.wanted, d.ending_at IS NOT NULL AS "isEnding", d.current_revision AS current, d.rollout,
      d.rollout_timeout_seconds * 1000.0::float8 AS "rolloutTimeoutMs", d.autoscale, d.fired AS "lastFiredMs", d.last_decision AS "lastDecision",
      (SELECT max(${ms(sql`t.last_request_at`)}) FROM deployment_traffic t WHERE t.deployment_id = d.id) AS "lastRequestMs",
      ${ms(sql`d.wake_asked_at`)} AS "wakeAskedMs", ${ms(sql`clock_timestamp()`)} AS "nowMs"
    FROM deployments d WHERE d.id = ${deploymentId}`);

const readRows = (tx: Runner, deploymentId: string): Promise<ReplicaRow[]> =>
  tx.rows<ReplicaRow>(sql`
    SELECT p.session_id AS id, p.revision, p.route, p.health, ${ms(sql`p.created_at`)} AS "createdMs", ${ms(sql`p.started_at`)} AS "startedMs",
      ${ms(sql`p.serving_at`)} AS "servingMs", ${ms(sql`p.draining_at`)} AS "drainingMs", ${inFlight} AS "inFlight", ${isDrained} AS "isDrained",
      ${isRefused} AS "isRefused", p.node, coalesce(p.session_state, '') AS "sessionState", ${FAULT} AS fault, ${whyNot} AS message
    FROM deployment_places p WHERE p.deployment_id = ${deploymentId} AND p.closed_at IS NULL ORDER BY p.created_at, p.session_id`);

interface RevisionRow {
  readonly revision: number;
  readonly inARow: number;
  readonly lastMs: number;
  readonly drainMs: number;
}

/** Those that have replicas, or may get some. */
const readRevisions = (tx: Runner, deploymentId: string): Promise<RevisionRow[]> =>
  tx.rows<RevisionRow>(sql`
    SELECT v.revision, v.failures AS "inARow", coalesce(${ms(sql`v.last_failure_at`)}, 0) AS "lastMs",
      (v.template->>'drainSeconds')::float8 * 1000 AS "drainMs"
    FROM deployment_revisions v JOIN deployments d ON d.id = v.deployment_id WHERE d.id = ${deploymentId} AND (
      v.revision IN (d.current_revision, (d.rollout->>'target')::int, (d.rollout->>'from')::int) OR EXISTS (
        SELECT 1 FROM deployment_replicas r WHERE r.deployment_id = d.id AND r.revision = v.revision AND r.closed_at IS NULL))
    ORDER BY v.revision`);

async function readMetrics(tx: Runner, { id, autoscale }: Row): Promise<Record<string, number>> {
  const values: Record<string, number> = {};
  for (const { name, metric } of autoscale?.rules ?? []) {
    const value = await metricValue(tx, id, metric);
    if (value !== null) values[name] = value;
  }
  return values;
}

export const queriesOf = (autoscale: DeploymentSnapshot['autoscale']): DeploymentSnapshot['prometheus'] =>
  (autoscale?.rules ?? []).flatMap(({ name, metric }) =>
    metric.kind === 'prometheus' ? [{ rule: name, query: metric.query }] : [],
  );

export const readAutoscale = async (tx: Runner, deploymentId: string): Promise<DeploymentSnapshot['autoscale']> =>
  (
    await tx.first<Pick<DeploymentSnapshot, 'autoscale'>>(
      sql`SELECT autoscale FROM deployments WHERE id = ${deploymentId}`,
    )
  )?.autoscale ?? null;

/** Under the deployment's lock, or in one consistent view. Null: there is none, or it has ended. */
export async function readSnapshot(tx: Runner, deploymentId: string): Promise<DeploymentSnapshot | null> {
  const row = await readRow(tx, deploymentId);
  if (row === undefined) return null;
  const revisions = await readRevisions(tx, deploymentId);
  return {
    ...row,
    metrics: await readMetrics(tx, row),
    prometheus: queriesOf(row.autoscale),
    replicas: await readRows(tx, deploymentId),
    failures: Object.fromEntries(revisions.map(({ revision, inARow, lastMs }) => [revision, { inARow, lastMs }])),
    drainMs: Object.fromEntries(revisions.map(({ revision, drainMs }) => [revision, drainMs])),
  };
}
