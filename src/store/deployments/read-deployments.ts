import type { Deployment, DeploymentState, Page, PageQuery } from '../../contract/index.js';
import type { Rollout } from '../../deployments/rollout.js';
import { afterCursor, pageOfRows } from '../cursor.js';
import type { Runner } from '../database.js';
import type { ModelScope } from '../model-store.js';
import { allOf, type Sql, sql } from '../sql.js';
import { isNamed } from './lock-deployment.js';
import { readReplicas } from './read-replicas.js';
import { rolloutView } from './rollout-view.js';
import { stateMessage } from './state-message.js';

interface Row extends Omit<Deployment, 'message' | 'rollout' | 'replicas' | 'url'> {
  readonly state: DeploymentState;
  readonly rollout: Rollout | null;
  readonly rollout_started_at: string | null;
  readonly rollout_message: string;
}

const deploymentsWhere = (condition: Sql): Sql => sql`
  SELECT d.id, d.name, project_path(d.project_id) AS project, u.name AS owner, d.group_name AS group, c.state, d.wanted AS "replicasWanted",
    c.live AS "replicasLive", c.serving AS "replicasServing", d.current_revision AS "currentRevision", d.rollout, d.rollout_started_at,
    d.rollout_message, d.weights, d.strategy, d.rollout_timeout_seconds AS "rolloutTimeoutSeconds", d.autoscale,
    d.last_decision AS "lastDecision", d.model_name AS "modelName", d.access, coalesce(v.failures, 0) AS "failuresInARow",
    CASE WHEN d.retry_at > now() THEN d.retry_at END AS "retryAt", d.created_at AS "createdAt", d.ended_at AS "endedAt"
  FROM deployments d JOIN users u ON u.id = d.owner_id JOIN deployment_counts c ON c.id = d.id
  LEFT JOIN deployment_revisions v ON v.deployment_id = d.id AND v.revision = coalesce((d.rollout->>'target')::int, d.current_revision)
  WHERE ${condition}`;

export const visible = ({ projects }: ModelScope): Sql =>
  projects === null ? sql`true` : sql`project_path(d.project_id) = ANY(${projects}::text[])`;

/** What the oldest one that should serve waits for. */
const waitsFor = (replicas: Deployment['replicas']): string | null =>
  replicas.find(
    ({ route, health }) => route !== 'DRAINING' && route !== 'ENDED' && (route !== 'ACTIVE' || health === 'unhealthy'),
  )?.message ?? null;

function toDeployment(row: Row, replicas: Deployment['replicas']): Deployment {
  const { rollout, rollout_started_at: startedAt, rollout_message: message, ...rest } = row;
  const { weights, rolloutTimeoutSeconds: timeoutSeconds } = rest;
  const view =
    rollout === null || startedAt === null
      ? null
      : rolloutView({ rollout, startedAt, message, timeoutSeconds, weights });
  const told = { ...rest, rolloutMessage: rollout === null ? '' : message, waitsFor: waitsFor(replicas) };
  return { ...rest, message: stateMessage(told), rollout: view, replicas, url: `/deployments/${rest.name}` };
}

async function withReplicas(tx: Runner, rows: readonly Row[]): Promise<Deployment[]> {
  const replicas = await readReplicas(
    tx,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => toDeployment(row, [...(replicas.get(row.id) ?? [])]));
}

const first = async (tx: Runner, condition: Sql): Promise<Deployment | null> => {
  const rows = await tx.rows<Row>(
    sql`${deploymentsWhere(condition)} ORDER BY d.ended_at IS NULL DESC, d.created_at DESC LIMIT 1`,
  );
  return (await withReplicas(tx, rows))[0] ?? null;
};

export const readDeployment = (tx: Runner, id: string): Promise<Deployment | null> => first(tx, sql`d.id = ${id}`);

/** By id, or by name: the one that has not ended, else the newest that has. */
export const findDeployment = (tx: Runner, reference: string, scope: ModelScope): Promise<Deployment | null> =>
  first(tx, sql`${isNamed(reference)} AND ${visible(scope)}`);

export async function listDeployments(
  tx: Runner,
  query: PageQuery & { readonly ended: boolean },
  scope: ModelScope,
): Promise<Page<Deployment>> {
  const after = afterCursor(query, { created: sql`d.created_at`, id: sql`d.id`, newestFirst: false });
  const open = query.ended ? sql`true` : sql`d.ended_at IS NULL`;
  const rows = await tx.rows<Row>(sql`
    ${deploymentsWhere(allOf([open, visible(scope), after]))} ORDER BY d.created_at, d.id LIMIT ${query.limit + 1}`);
  const items = await withReplicas(tx, rows);
  return pageOfRows(items, query, { item: (item) => item, key: (item) => [item.createdAt, item.id] });
}

/** The id of the one that a name or id means, as `findDeployment` finds it. */
export const idOf = async (tx: Runner, reference: string): Promise<string | null> =>
  (
    await tx.first<{ id: string }>(sql`
      SELECT d.id FROM deployments d WHERE ${isNamed(reference)} ORDER BY d.ended_at IS NULL DESC, d.created_at DESC LIMIT 1`)
  )?.id ?? null;
