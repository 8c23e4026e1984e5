import type { Runner } from '../database.js';
import type { DeploymentStore } from '../deployment-store.js';
import { type Sql, sql } from '../sql.js';
import { isServing } from './sql-words.js';

const ids = async (tx: Runner, statement: Sql): Promise<readonly string[]> =>
  (await tx.rows<{ id: string }>(statement)).map((row) => row.id);

/** Something of a replica that no turn has answered. */
const unanswered = sql`
  EXISTS (SELECT 1 FROM deployment_places p WHERE p.deployment_id = d.id AND p.closed_at IS NULL
    AND (p.route = 'ENDED' OR (p.draining_at IS NULL AND p.health = 'unhealthy') OR (p.serving_at IS NULL AND ${isServing})))`;

/** Marked as changed, or a replica of it did, and no turn since, for so long. */
export function readDue(tx: Runner, olderThanMs: number): Promise<readonly string[]> {
  const old = sql`now() - ${olderThanMs}::float8 * interval '1 ms'`;
  return ids(
    tx,
    sql`SELECT d.id FROM deployments d WHERE d.ended_at IS NULL AND (
        (d.changes > d.turned_changes AND d.changed_at < ${old}) OR (coalesce(d.turned_at, d.created_at) < ${old} AND ${unanswered}))
      ORDER BY 1`,
  );
}

export const readOpen = (tx: Runner): Promise<readonly string[]> =>
  ids(tx, sql`SELECT id FROM deployments WHERE ended_at IS NULL ORDER BY 1`);

type Metrics = Awaited<ReturnType<DeploymentStore['metrics']>>;

export const readDeploymentMetrics = (tx: Runner): Promise<Metrics> =>
  tx.rows<Metrics[number]>(sql`
    WITH counted AS MATERIALIZED (
      SELECT d.name, d.wanted, c.live, c.serving, c.state, d.rollout IS NOT NULL AS rolls,
        (SELECT coalesce(sum(v.failures), 0) FROM deployment_revisions v WHERE v.deployment_id = d.id) AS failures,
        (SELECT sum(t.requests) FROM deployment_traffic t WHERE t.deployment_id = d.id) AS requests,
        (SELECT sum(t.failures) FROM deployment_traffic t WHERE t.deployment_id = d.id) AS failed
      FROM deployments d JOIN deployment_counts c ON c.id = d.id WHERE d.ended_at IS NULL)
    SELECT 'deployments' AS name, json_build_object('state', state) AS labels, count(*)::float8 AS value FROM counted GROUP BY state
    UNION ALL SELECT 'deployment_replicas', json_build_object('deployment', name, 'count', 'wanted'), wanted::float8 FROM counted
    UNION ALL SELECT 'deployment_replicas', json_build_object('deployment', name, 'count', 'live'), live::float8 FROM counted
    UNION ALL SELECT 'deployment_replicas', json_build_object('deployment', name, 'count', 'serving'), serving::float8 FROM counted
    UNION ALL SELECT 'deployment_failures_in_a_row', json_build_object('deployment', name), failures::float8 FROM counted
    UNION ALL SELECT 'deployment_rollouts', json_build_object('deployment', name), rolls::int::float8 FROM counted
    UNION ALL SELECT 'deployment_requests_total', json_build_object('deployment', name), coalesce(requests, 0)::float8 FROM counted
    UNION ALL SELECT 'deployment_failed_requests_total', json_build_object('deployment', name), coalesce(failed, 0)::float8 FROM counted`);
