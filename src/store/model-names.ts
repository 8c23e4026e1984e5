import { advisoryKey, type Runner } from './database.js';
import { sql } from './sql.js';

/**
 * One name, one model at the gateway: of claims and of deployments together, which two tables cannot promise by an index. Whoever
 * takes a name holds its lock from before it looks; it is taken last of all locks.
 */
export async function modelNameIsTaken(tx: Runner, modelName: string, by: { readonly deploymentId: string | null }) {
  await tx.run(sql`SELECT pg_advisory_xact_lock(${advisoryKey(`model-name:${modelName}`)})`);
  const taken = await tx.first(sql`
    SELECT 1 FROM model_claims WHERE model_name = ${modelName} AND ended_at IS NULL
    UNION ALL SELECT 1 FROM deployments WHERE model_name = ${modelName} AND ended_at IS NULL AND id IS DISTINCT FROM ${by.deploymentId}::text`);
  return taken !== undefined;
}
