import type { Deployment } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { DeploymentProblem } from '../deployment-store.js';
import { projectId } from '../models/sql-words.js';
import { json, sql } from '../sql.js';
import { type By, checkApply, type Known, type Wish } from './check-apply.js';
import { recordDeploymentEvent } from './deployment-events.js';
import { lockName, markChanged } from './lock-deployment.js';
import { readDeployment } from './read-deployments.js';
import { refreshState } from './refresh-state.js';
import { addRevision, findRevision } from './revisions.js';
import { startRollout } from './start-rollout.js';

interface Asked {
  readonly wish: Wish;
  readonly by: By;
}

const orNull = (value: unknown): string | null => (value === null ? null : json(value));

async function create(tx: Runner, name: string, { wish, by }: Asked): Promise<string> {
  const id = by.deploymentId;
  await tx.run(sql`
    INSERT INTO deployments (id, name, project_id, group_name, owner_id, wanted, strategy, rollout_timeout_seconds, autoscale, model_name, access)
    VALUES (${id}, ${name}, ${projectId(wish.project)}, ${wish.group}, ${by.userId}, ${wish.replicas ?? 1}, ${json(wish.strategy)}::jsonb,
      ${wish.rolloutTimeoutSeconds}, ${orNull(wish.autoscale)}::jsonb, ${wish.modelName}, ${wish.access})`);
  const target = await addRevision(tx, id, { wish, by });
  const message = `made with ${wish.replicas ?? 1} wanted`;
  await recordDeploymentEvent(tx, { deploymentId: id, kind: 'applied', message, actor: by.actor });
  await startRollout(tx, id, { target, because: 'its first revision', actor: by.actor });
  return id;
}

/** What differs is written at once; the names of what did. */
async function changeFields(tx: Runner, id: string, { wish }: Asked): Promise<readonly string[]> {
  const row = await tx.first<{ changed: string[] }>(sql`
    UPDATE deployments d SET wanted = coalesce(${wish.replicas ?? null}::int, d.wanted), strategy = ${json(wish.strategy)}::jsonb,
      rollout_timeout_seconds = ${wish.rolloutTimeoutSeconds}, autoscale = ${orNull(wish.autoscale)}::jsonb,
      model_name = ${wish.modelName}, access = ${wish.access}, wake_asked_at = CASE WHEN ${wish.autoscale !== null} THEN d.wake_asked_at END
    FROM deployments o WHERE d.id = ${id} AND o.id = d.id
    RETURNING to_json(array_remove(ARRAY[
      CASE WHEN o.wanted <> d.wanted THEN 'replicas' END,
      CASE WHEN o.strategy <> d.strategy THEN 'strategy' END,
      CASE WHEN o.rollout_timeout_seconds <> d.rollout_timeout_seconds THEN 'rolloutTimeoutSeconds' END,
      CASE WHEN o.autoscale IS DISTINCT FROM d.autoscale THEN 'autoscale' END,
      CASE WHEN o.model_name IS DISTINCT FROM d.model_name THEN 'modelName' END,
      CASE WHEN o.access <> d.access THEN 'access' END], NULL)) AS changed`);
  return row?.changed ?? [];
}

/** The template that was asked for last asks for nothing, unless its rollout failed: then for another try. */
async function changeTemplate(tx: Runner, id: string, { wish, by }: Asked): Promise<boolean> {
  const known = await findRevision(tx, id, by.templateHash);
  const target = known ?? (await addRevision(tx, id, { wish, by }));
  const because = known === null ? 'another template was applied' : 'its template was applied again';
  return startRollout(tx, id, { target, because, actor: by.actor });
}

async function change(tx: Runner, id: string, asked: Asked): Promise<void> {
  const changed = await changeFields(tx, id, asked);
  if (changed.length > 0) {
    const message = `changed: ${changed.join(', ')}`;
    const data = { replicas: asked.wish.replicas ?? null };
    await recordDeploymentEvent(tx, { deploymentId: id, kind: 'applied', message, data, actor: asked.by.actor });
  }
  const rolls = await changeTemplate(tx, id, asked);
  if (changed.length > 0 || rolls) await markChanged(tx, id);
}

/** Made, or made to be as asked; with the same again it writes nothing that was there. */
export async function apply(tx: Runner, name: string, asked: Asked): Promise<Deployment | DeploymentProblem> {
  await lockName(tx, name);
  const known = await tx.first<Known>(sql`
    SELECT d.id, project_path(d.project_id) AS project, d.group_name AS group, d.ending_at IS NOT NULL AS "isEnding"
    FROM deployments d WHERE d.name = ${name} AND d.ended_at IS NULL FOR NO KEY UPDATE OF d`);
  const problem = await checkApply(tx, known, asked);
  if (problem !== null) return problem;
  if (known !== undefined) await change(tx, known.id, asked);
  const id = known?.id ?? (await create(tx, name, asked));
  await refreshState(tx, id);
  return (await readDeployment(tx, id)) ?? { problem: 'missing' };
}

/** Carries its answer out of a transaction that is rolled back. */
class DryRun extends Error {
  constructor(readonly answer: Deployment | DeploymentProblem) {
    super('a dry run keeps nothing');
  }
}

/** What `apply` would make of it, and nothing of that stays. */
export async function dryRunOf(
  transaction: (work: (tx: Runner) => Promise<never>) => Promise<never>,
  name: string,
  asked: Asked,
): Promise<Deployment | DeploymentProblem> {
  try {
    return await transaction(async (tx) => {
      throw new DryRun(await apply(tx, name, asked));
    });
  } catch (error) {
    if (error instanceof DryRun) return error.answer;
    throw error;
  }
}
