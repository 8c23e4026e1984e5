import type { ReplicaView } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import { inFlight, whyNot } from './sql-words.js';

/** Those that are not closed, by deployment, the oldest first. */
export async function readReplicas(
  tx: Runner,
  deploymentIds: readonly string[],
): Promise<ReadonlyMap<string, readonly ReplicaView[]>> {
  const rows = await tx.rows<ReplicaView & { readonly deployment_id: string }>(sql`
    SELECT p.deployment_id, p.session_id AS "sessionId", p.name, p.revision, p.route, p.health, coalesce(p.session_state, '') AS "sessionState",
      p.node, p.session_reason AS reason, ${whyNot} AS message, ${inFlight} AS "inFlight", p.created_at AS "createdAt",
      p.serving_at AS "servingAt", p.draining_at AS "drainingAt"
    FROM deployment_places p WHERE p.deployment_id = ANY(${deploymentIds}::text[]) AND p.closed_at IS NULL
    ORDER BY p.created_at, p.session_id`);
  const byDeployment = new Map<string, ReplicaView[]>();
  for (const { deployment_id, ...replica } of rows) {
    const known = byDeployment.get(deployment_id);
    if (known === undefined) byDeployment.set(deployment_id, [replica]);
    else known.push(replica);
  }
  return byDeployment;
}
