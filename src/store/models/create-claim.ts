import type { ClaimReason, ModelClaim } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { modelNameIsTaken } from '../model-names.js';
import type { ClaimProblem, ModelStore } from '../model-store.js';
import { json, sql } from '../sql.js';
import { closeOrphans } from './close-orphans.js';
import { recordModelEvent } from './model-events.js';
import { lockPool, markChanged } from './pool-lock.js';
import { readClaim } from './read-claims.js';
import { everything } from './read-pools.js';
import { readPool } from './read-snapshot.js';
import { projectId } from './sql-words.js';

type NewClaim = Parameters<ModelStore['createClaim']>[0];
type By = Parameters<ModelStore['createClaim']>[1];
type Why = Parameters<ModelStore['createClaim']>[2];

const insert = (tx: Runner, claim: NewClaim, { by, reason }: { by: By; reason: ClaimReason | null }): Promise<number> =>
  tx.run(sql`
    INSERT INTO model_claims (id, model_name, pool, project_id, owner_id, artifact_url, artifact_sha256, engine, args, tensor, pipeline,
      replicas, pinned, hold, footprint_bytes, kv_floor_bytes, kv_min_bytes, kv_max_bytes, priority, sleep, reason, reason_message, reason_data)
    SELECT ${by.claimId}, ${claim.modelName}, p.name, ${projectId(claim.project)}, ${by.userId}, ${claim.artifactUrl}, ${claim.artifactSha256},
      coalesce(${claim.engine ?? null}, p.engine), ${json(claim.args)}::jsonb, ${claim.parallel.tensor}, ${claim.parallel.pipeline},
      ${claim.replicas}, ${claim.pinned}, ${claim.hold === null ? null : json(claim.hold)}::jsonb, ${claim.perGpu.maximumFootprint},
      ${claim.perGpu.kvFloor}, ${claim.kvMin}, ${claim.kvMax}, ${claim.priority}, ${json(claim.sleep)}::jsonb,
      ${reason?.code ?? null}, ${reason?.message ?? ''}, ${json(reason?.data ?? {})}::jsonb
    FROM pools p WHERE p.name = ${claim.pool}
    ON CONFLICT (model_name) WHERE ended_at IS NULL DO NOTHING`);

/** The pool's own project, or one that may claim from it. */
async function problemOf(tx: Runner, claim: NewClaim): Promise<ClaimProblem | null> {
  const row = await tx.first<{ may_claim: boolean }>(sql`
    SELECT coalesce(p.project_id = own.id OR EXISTS (SELECT 1 FROM pool_projects a WHERE a.pool = p.name AND a.project_id = own.id), false) AS may_claim
    FROM pools p CROSS JOIN (SELECT ${projectId(claim.project)} AS id) own WHERE p.name = ${claim.pool} AND p.removed_at IS NULL`);
  if (row === undefined) return { problem: 'no-pool' };
  if (!row.may_claim) return { problem: 'no-project' };
  return (await modelNameIsTaken(tx, claim.modelName, { deploymentId: null })) ? { problem: 'name-taken' } : null;
}

export async function createClaim(
  tx: Runner,
  claim: NewClaim,
  { by, why }: { readonly by: By; readonly why: Why },
): Promise<ModelClaim | ClaimProblem> {
  await lockPool(tx, claim.pool);
  const known = await tx.first(sql`SELECT 1 FROM model_claims WHERE id = ${by.claimId}`);
  if (known === undefined) {
    await closeOrphans(tx, claim.pool);
    const problem = await problemOf(tx, claim);
    if (problem !== null) return problem;
    const pool = await readPool(tx, claim.pool);
    const reason = pool === null ? null : why(pool.snapshot);
    if ((await insert(tx, claim, { by, reason })) === 0) return { problem: 'name-taken' };
    const message = `claims ${claim.pool} for ${claim.artifactUrl}`;
    await recordModelEvent(tx, {
      claimId: by.claimId,
      kind: 'claimed',
      reason: reason?.code ?? null,
      message,
      actor: by.actor,
    });
    await markChanged(tx, claim.pool);
  }
  return (await readClaim(tx, by.claimId, everything)) ?? { problem: 'missing' };
}
