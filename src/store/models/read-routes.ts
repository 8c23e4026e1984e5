import type { Runner } from '../database.js';
import type { ModelRoute } from '../model-store.js';
import { type Sql, sql } from '../sql.js';
import { isLost, isRouted, ms } from './sql-words.js';

type Target = ModelRoute['targets'][number];
interface RouteRow extends Omit<ModelRoute, 'targets'> {
  readonly targets: readonly (Omit<Target, 'sealedApiKey'> & { readonly key: string })[];
}

/**
 * In the words of `Serving` (src/models/gateway-answer.ts). What the engines are comes before what the last turn said of them:
 * that may be a moment old.
 */
const SERVING = sql`
  CASE WHEN t.routable THEN 'Active'
    WHEN c.ending_at IS NOT NULL THEN 'Invalid'
    WHEN c.failed_for_good IS NOT NULL THEN 'FailedForGood'
    WHEN c.phase = 'MOVING' THEN 'Moving'
    WHEN c.phase IN ('SLEEPING', 'WAKING') OR t.sleeps
      THEN CASE WHEN c.reason IN ('MakingRoom', 'WaitingForRoom') AND c.wake_asked_at IS NOT NULL THEN c.reason ELSE 'EngineSleeping' END
    WHEN t.lost_node IS NOT NULL THEN 'EngineFailed'
    WHEN c.phase IN ('STARTING', 'ACTIVE') THEN 'EngineStarting'
    WHEN c.reason IN ('NoRoom', 'MakingRoom', 'WaitingForRoom', 'TooLargeForAnyGpu', 'EngineFailed', 'Moving', 'PoolEmpty') THEN c.reason
    WHEN c.reason = 'QuotaExceeded' THEN 'PoolEmpty'
    ELSE 'NoRoom' END`;

const routesWhere = (condition: Sql): Sql => sql`
  SELECT c.id AS "claimId", c.model_name AS "modelName", c.pool, o.project, json_build_array(o.project) AS projects, ${SERVING} AS serving,
    CASE WHEN c.reason_message <> '' THEN c.reason_message WHEN t.lost_node IS NOT NULL THEN 'its node ' || t.lost_node || ' is not heard' END AS reason, ${ms(sql`coalesce(t.since, c.phase_since)`)} AS "phaseSinceMs",
    c.start_ms / 1000.0::float8 AS "startSeconds", c.wake_ms / 1000.0::float8 AS "wakeSeconds", c.hold, t.targets
  FROM model_claims c CROSS JOIN LATERAL (SELECT project_path(c.project_id) AS project) o
  CROSS JOIN LATERAL (
    SELECT coalesce(bool_or(${isRouted}), false) AS routable, coalesce(bool_or(e.order_kind = 'sleep'), false) AS sleeps,
      min(e.node) FILTER (WHERE e.phase = 'ACTIVE' AND ${isLost}) AS lost_node,
      max(e.phase_since) FILTER (WHERE e.phase IN ('STARTING', 'WAKING')) AS since,
      coalesce(json_agg(json_build_object('instanceId', e.id, 'host', e.host, 'port', e.port, 'key', encode(e.sealed_api_key, 'base64'))
        ORDER BY e.id) FILTER (WHERE ${isRouted}), '[]') AS targets
    FROM model_engines e WHERE e.claim_id = c.id) t
  WHERE c.ended_at IS NULL AND ${condition}`;

const toRoute = ({ targets, ...row }: RouteRow): ModelRoute => ({
  ...row,
  targets: targets.map(({ key, ...target }) => ({ ...target, sealedApiKey: Buffer.from(key, 'base64') })),
});

export const readRoutes = async (tx: Runner): Promise<readonly ModelRoute[]> =>
  (await tx.rows<RouteRow>(sql`${routesWhere(sql`true`)} ORDER BY c.model_name`)).map(toRoute);

export async function readRoute(tx: Runner, claimId: string): Promise<ModelRoute | null> {
  const row = await tx.first<RouteRow>(routesWhere(sql`c.id = ${claimId}`));
  return row === undefined ? null : toRoute(row);
}
