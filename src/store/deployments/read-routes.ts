import type { DeploymentState } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { DeploymentRoute } from '../deployment-store.js';
import { ms } from '../models/sql-words.js';
import { type Sql, sql } from '../sql.js';
import { isServing, whyNot } from './sql-words.js';
import { stateMessage } from './state-message.js';

type Target = DeploymentRoute['targets'][number];
type Token = DeploymentRoute['tokens'][number];

interface Row extends Omit<DeploymentRoute, 'message' | 'targets' | 'tokens'> {
  readonly state: DeploymentState;
  readonly wanted: number;
  readonly live: number;
  readonly serving: number;
  readonly rollout_message: string;
  readonly retry_at: string | null;
  readonly waits_for: string | null;
  readonly targets: readonly (Omit<Target, 'sealedApiKey'> & { readonly key: string | null })[];
  readonly tokens: readonly (Omit<Token, 'hash'> & { readonly hash: string })[];
}

/** Grouped once for all, so that a thousand routes cost one pass over their replicas. */
const PLACES = sql`
  SELECT p.deployment_id, min(p.created_at) FILTER (WHERE p.route IN ('PROVISIONING', 'WARMING')) AS since,
    count(*) FILTER (WHERE p.route NOT IN ('DRAINING', 'ENDED'))::int AS live, count(*) FILTER (WHERE ${isServing})::int AS serving,
    (array_agg(${whyNot} ORDER BY p.created_at, p.session_id) FILTER (WHERE p.route NOT IN ('DRAINING', 'ENDED') AND NOT ${isServing}))[1] AS waits_for,
    json_agg(json_build_object('sessionId', p.session_id, 'attempt', p.attempt, 'revision', p.revision,
        'isDegraded', p.health = 'degraded', 'host', p.host, 'port', p.port, 'key', encode(p.sealed_api_key, 'base64'))
      ORDER BY p.session_id) FILTER (WHERE ${isServing}) AS targets
  FROM deployment_places p WHERE p.closed_at IS NULL GROUP BY p.deployment_id`;

const TOKENS = sql`
  SELECT o.deployment_id, json_agg(json_build_object('id', o.id, 'hash', encode(o.hash, 'base64'), 'expiresMs', ${ms(sql`o.expires_at`)})
    ORDER BY o.id) AS list
  FROM deployment_tokens o WHERE o.revoked_at IS NULL AND (o.expires_at IS NULL OR o.expires_at > now()) GROUP BY o.deployment_id`;

const routesWhere = (condition: Sql): Sql => sql`
  SELECT d.id AS "deploymentId", d.name, project_path(d.project_id) AS project, d.model_name AS "modelName", d.access,
    deployment_state(d, coalesce(t.serving, 0)) AS state, d.wanted, coalesce(t.live, 0) AS live, coalesce(t.serving, 0) AS serving,
    CASE WHEN d.rollout IS NULL THEN '' ELSE d.rollout_message END AS rollout_message,
    CASE WHEN d.retry_at > now() THEN d.retry_at END AS retry_at, d.start_ms / 1000.0::float8 AS "startSeconds",
    ${ms(sql`coalesce(d.wake_asked_at, t.since, d.changed_at)`)} AS "sinceMs", d.weights, t.waits_for,
    coalesce(t.targets, '[]') AS targets, coalesce(k.list, '[]') AS tokens
  FROM deployments d LEFT JOIN (${PLACES}) t ON t.deployment_id = d.id LEFT JOIN (${TOKENS}) k ON k.deployment_id = d.id
  WHERE d.ended_at IS NULL AND ${condition}`;

const bytes = (text: string): Buffer => Buffer.from(text, 'base64');

function toRoute({ targets, tokens, ...row }: Row): DeploymentRoute {
  const {
    wanted,
    live,
    serving,
    rollout_message: rolloutMessage,
    retry_at: retryAt,
    waits_for: waitsFor,
    ...rest
  } = row;
  const counts = { replicasWanted: wanted, replicasLive: live, replicasServing: serving };
  return {
    ...rest,
    message: stateMessage({ ...counts, state: rest.state, rolloutMessage, retryAt, waitsFor }),
    targets: targets.map(({ key, ...target }) => ({ ...target, sealedApiKey: key === null ? null : bytes(key) })),
    tokens: tokens.map(({ hash, ...token }) => ({ ...token, hash: bytes(hash) })),
  };
}

export const readRoutes = async (tx: Runner): Promise<readonly DeploymentRoute[]> =>
  (await tx.rows<Row>(sql`${routesWhere(sql`true`)} ORDER BY d.name`)).map(toRoute);

/** Null: it has ended, or there is none. */
export async function readRoute(tx: Runner, deploymentId: string): Promise<DeploymentRoute | null> {
  const row = await tx.first<Row>(routesWhere(sql`d.id = ${deploymentId}`));
  return row === undefined ? null : toRoute(row);
}
