import type { SessionId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { DeploymentWork } from '../deployment-store.js';
import { sql } from '../sql.js';
import { principalOf } from '../tenancy/principal.js';
import { lockDeployment } from './lock-deployment.js';
import { readDeployment } from './read-deployments.js';
import { outcomeWithoutLock } from './turn.js';

type Submit = DeploymentWork['submit'][number];
type Stop = DeploymentWork['stop'][number];

const NOTHING = { submit: [], stop: [], owner: null, deployment: null } as const;

/** Handed out again until their submission is known; the row says that one may be on its way. */
async function toSubmit(tx: Runner, deploymentId: string): Promise<Submit[]> {
  const rows = await tx.rows<Submit>(sql`
    SELECT r.session_id AS "sessionId", r.revision, r.name, v.template, v.sealed_secrets AS "sealedSecrets", r.sealed_api_key AS "sealedApiKey"
    FROM deployment_replicas r JOIN deployment_revisions v ON v.deployment_id = r.deployment_id AND v.revision = r.revision
    WHERE r.deployment_id = ${deploymentId} AND r.closed_at IS NULL AND r.draining_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM submissions b WHERE b.session_id = r.session_id)
      AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = r.session_id)
    ORDER BY r.created_at, r.session_id`);
  await tx.run(sql`
    UPDATE deployment_replicas SET submitting_at = clock_timestamp() WHERE session_id = ANY(${rows.map((row) => row.sessionId)}::text[])`);
  return rows;
}

/**
 * Drained, and nobody asked their sessions to stop yet; so are sessions that outlived their row, which nothing else would end.
 * A submission that is not admitted keeps the stop.
 */
const toStop = (tx: Runner, deploymentId: string, name: string): Promise<Stop[]> =>
  tx.rows<Stop>(sql`
    SELECT r.session_id AS "sessionId", (v.template->>'gracePeriodSeconds')::float8 * 1000 AS "graceMs",
      CASE WHEN d.ending_at IS NOT NULL THEN 'the deployment ' || ${name}::text || ' ends'
        WHEN r.drain_why = 'unhealthy' THEN 'the deployment ' || ${name}::text || ' replaces it: it is unhealthy'
        WHEN r.drain_why = 'old-revision' THEN 'the deployment ' || ${name}::text || ' left its revision'
        ELSE 'the deployment ' || ${name}::text || ' needs it no longer' END AS message
    FROM deployment_replicas r JOIN deployments d ON d.id = r.deployment_id
    JOIN deployment_revisions v ON v.deployment_id = r.deployment_id AND v.revision = r.revision
    LEFT JOIN submissions b ON b.session_id = r.session_id LEFT JOIN sessions s ON s.id = r.session_id
    WHERE r.deployment_id = ${deploymentId} AND ((r.closed_at IS NULL AND r.stop_at IS NOT NULL) OR r.closed_at > now() - interval '1 day')
      AND CASE WHEN s.id IS NULL THEN b.session_id IS NOT NULL AND b.refusal IS NULL AND b.stop IS NULL
        ELSE s.ended_at IS NULL AND s.stop_requested_at IS NULL AND s.state <> 'TERMINATING' END
    ORDER BY r.session_id`);

/** What is not carried out yet of the turns so far: asked again it answers the same until it is. */
export async function work(tx: Runner, deploymentId: string): Promise<DeploymentWork> {
  const locked = await lockDeployment(tx, deploymentId);
  if (locked === undefined)
    return { outcome: await outcomeWithoutLock(tx, deploymentId), ...NOTHING, details: 'it has ended' };
  const view = await readDeployment(tx, locked.id);
  if (view === null) return { outcome: 'missing', ...NOTHING, details: '' };
  const submit = locked.isEnding ? [] : await toSubmit(tx, locked.id);
  const { name, project, group, modelName, state, message } = view;
  return {
    outcome: 'lives',
    submit,
    stop: await toStop(tx, locked.id, name),
    owner: submit.length === 0 ? null : await principalOf(tx, view.owner),
    deployment: { name, project, group, modelName },
    details: `${state}: ${message}`,
  };
}

/** One indexed read; null for a session that is no replica. */
export const deploymentOf = async (tx: Runner, sessionId: SessionId | string): Promise<string | null> =>
  (
    await tx.first<{ deployment_id: string }>(
      sql`SELECT deployment_id FROM deployment_replicas WHERE session_id = ${sessionId}`,
    )
  )?.deployment_id ?? null;

export const deploymentsOn = async (tx: Runner, node: string): Promise<readonly string[]> =>
  (
    await tx.rows<{ id: string }>(sql`
      SELECT DISTINCT r.deployment_id AS id FROM reservations v JOIN deployment_replicas r ON r.session_id = v.session_id
      WHERE v.node = ${node} AND v.released_at IS NULL AND r.closed_at IS NULL ORDER BY 1`)
  ).map((row) => row.id);
