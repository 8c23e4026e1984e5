import type { Revision, SessionId } from '../../contract/index.js';
import { newSessionId } from '../../platform/ids.js';
import type { Runner } from '../database.js';
import type { DeploymentSnapshot, DeploymentTurn } from '../deployment-store.js';
import { json, sql } from '../sql.js';
import { KEPT } from './deployment-events.js';

export type SealApiKey = (sessionId: SessionId, template: Revision['template']) => Buffer | null;

/** A first success, of those that had one; what the last start took. */
export const noteServing = (tx: Runner, deploymentId: string): Promise<number> =>
  tx.run(sql`
    WITH served AS (
      UPDATE deployment_replicas r SET serving_at = CASE WHEN p.session_ended_at IS NULL THEN clock_timestamp() ELSE p.started_at END
      FROM deployment_places p WHERE p.session_id = r.session_id AND p.deployment_id = ${deploymentId} AND p.closed_at IS NULL
        AND p.serving_at IS NULL AND p.started_at IS NOT NULL AND p.session_health IN ('healthy', 'degraded', 'unhealthy')
        AND (p.route = 'ACTIVE' OR p.session_ended_at IS NOT NULL)
      RETURNING r.created_at, r.serving_at)
    UPDATE deployments d SET start_ms = s.took FROM (
      SELECT (extract(epoch FROM max(serving_at - created_at)) * 1000)::bigint AS took FROM served HAVING count(*) > 0) s
    WHERE d.id = ${deploymentId}`);

/** Those that the turn saw as ended; nothing more is told of them. */
export async function closeEnded(tx: Runner, { id, replicas }: DeploymentSnapshot): Promise<void> {
  const ended = replicas.filter(({ route }) => route === 'ENDED').map((one) => ({ id: one.id, why: one.message }));
  if (ended.length === 0) return;
  await tx.run(sql`
    UPDATE deployment_replicas r SET closed_at = now(), close_reason = coalesce(e.why, r.drain_why, 'its session ended')
    FROM jsonb_to_recordset(${json(ended)}::jsonb) AS e(id text, why text) WHERE r.session_id = e.id AND r.closed_at IS NULL`);
  await forgetClosed(tx, id);
}

/** What was told of closed ones goes; of the rows themselves the newest stay. */
async function forgetClosed(tx: Runner, deploymentId: string): Promise<void> {
  const closed = sql`(SELECT session_id FROM deployment_replicas WHERE deployment_id = ${deploymentId} AND closed_at >= now())`;
  await tx.run(sql`DELETE FROM replica_traffic WHERE session_id IN ${closed}`);
  await tx.run(sql`DELETE FROM replica_metrics WHERE session_id IN ${closed}`);
  await tx.run(sql`
    DELETE FROM deployment_replicas r WHERE r.deployment_id = ${deploymentId} AND r.closed_at < (
      SELECT closed_at FROM deployment_replicas WHERE deployment_id = ${deploymentId} AND closed_at IS NOT NULL
      ORDER BY closed_at DESC OFFSET ${KEPT}::int LIMIT 1)
    AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = r.session_id AND s.ended_at IS NULL)`);
}

/** So long a submission that was handed out may still come to be. */
const SUBMITTING = sql`interval '1 minute'`;

/** What is to stop and was never submitted is just closed: nothing of it is anywhere. */
export const forgetUnsubmitted = (tx: Runner, deploymentId: string): Promise<number> =>
  tx.run(sql`
    UPDATE deployment_replicas r SET closed_at = now(), close_reason = 'not wanted any more'
    WHERE r.deployment_id = ${deploymentId} AND r.closed_at IS NULL AND r.stop_at IS NOT NULL
      AND (r.submitting_at IS NULL OR r.submitting_at < now() - ${SUBMITTING})
      AND NOT EXISTS (SELECT 1 FROM submissions b WHERE b.session_id = r.session_id)
      AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = r.session_id)`);

/** Off the route by this commit; the moment is that of writing, since the transaction may have waited for its lock. */
export async function writeDrains(tx: Runner, { drain, stop }: DeploymentTurn): Promise<void> {
  if (drain.length > 0)
    await tx.run(sql`
      UPDATE deployment_replicas r SET draining_at = clock_timestamp(), drain_why = d.why
      FROM jsonb_to_recordset(${json(drain)}::jsonb) AS d(id text, why text)
      WHERE r.session_id = d.id AND r.closed_at IS NULL AND r.draining_at IS NULL`);
  if (stop.length > 0)
    await tx.run(sql`
      UPDATE deployment_replicas SET stop_at = clock_timestamp(), draining_at = coalesce(draining_at, clock_timestamp())
      WHERE session_id = ANY(${[...stop]}::text[]) AND closed_at IS NULL AND stop_at IS NULL`);
}

interface Template {
  readonly revision: number;
  readonly template: Revision['template'];
}

const NAME_LENGTH_MAX = 63;

/** `<deployment>-r<revision>-<last 5 of the id>`: a session's name is unique among the open ones of its project. */
function replicaName(deployment: string, revision: number, sessionId: string): string {
  const ending = `-r${revision}-${sessionId.slice(-5)}`;
  return `${deployment.slice(0, NAME_LENGTH_MAX - ending.length)}${ending}`;
}

/** Their ids are made here: whoever submits them, and however often, submits the same sessions. */
export async function makeReplicas(
  tx: Runner,
  { id, name }: DeploymentSnapshot,
  { create, sealApiKey }: { readonly create: DeploymentTurn['create']; readonly sealApiKey: SealApiKey },
): Promise<void> {
  if (create.length === 0) return;
  const templates = await tx.rows<Template>(sql`
    SELECT revision, template FROM deployment_revisions
    WHERE deployment_id = ${id} AND revision = ANY(${create.map(({ revision }) => revision)}::int[])`);
  const made = create.flatMap(({ revision, count }) => {
    const template = templates.find((one) => one.revision === revision)?.template;
    if (template === undefined) return [];
    return Array.from({ length: count }, () => {
      const sessionId = newSessionId();
      const key = sealApiKey(sessionId, template)?.toString('base64') ?? null;
      return { sessionId, revision, name: replicaName(name, revision, sessionId), key };
    });
  });
  await tx.run(sql`
    INSERT INTO deployment_replicas (session_id, deployment_id, revision, name, sealed_api_key, created_at)
    SELECT m."sessionId", ${id}, m.revision, m.name, decode(m.key, 'base64'), clock_timestamp()
    FROM jsonb_to_recordset(${json(made)}::jsonb) AS m("sessionId" text, revision int, name text, key text)`);
}
