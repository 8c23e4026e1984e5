import type { Pool } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { ModelStore, PoolProblem } from '../model-store.js';
import { json, sql } from '../sql.js';
import { closeOrphans } from './close-orphans.js';
import { lockPool, markChanged } from './pool-lock.js';
import { everything, readAnyPool, readPoolView } from './read-pools.js';
import { projectId } from './sql-words.js';

type NewPool = Parameters<ModelStore['createPool']>[0];
type By = Parameters<ModelStore['createPool']>[1];
type Change = Parameters<ModelStore['changePool']>[1];

/** False where one of them is not there. */
async function putProjects(tx: Runner, pool: string, projects: readonly string[]): Promise<boolean> {
  await tx.run(sql`DELETE FROM pool_projects WHERE pool = ${pool}`);
  for (const project of new Set(projects)) {
    const put = await tx.run(
      sql`INSERT INTO pool_projects (pool, project_id) SELECT ${pool}, id FROM (${projectId(project)}) p(id) WHERE id IS NOT NULL`,
    );
    if (put === 0) return false;
  }
  return true;
}

/** Rolls the transaction back. */
class Refused extends Error {
  constructor(readonly problem: PoolProblem) {
    super(problem);
  }
}
export async function orProblem<Result>(work: () => Promise<Result>): Promise<Result | PoolProblem> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refused) return error.problem;
    throw error;
  }
}

/** Members of the pool are sessions of whoever made it: one outside the project is refused each of them. */
const isMember = async (tx: Runner, userId: string, projectId: string): Promise<boolean> =>
  (await tx.first(sql`SELECT 1 FROM memberships WHERE user_id = ${userId} AND project_id = ${projectId}`)) !==
  undefined;

/** A name that was removed comes again once nothing of its members is left. */
export async function createPool(tx: Runner, pool: NewPool, by: By): Promise<Pool | PoolProblem> {
  await lockPool(tx, pool.name);
  await closeOrphans(tx, pool.name);
  const group = await tx.first(sql`SELECT 1 FROM resource_groups WHERE name = ${pool.group}`);
  if (group === undefined) return 'no-group';
  const project = await tx.first<{ id: string | null }>(sql`SELECT ${projectId(pool.project)} AS id`);
  if (project === undefined || project.id === null) return 'no-project';
  if (!(await isMember(tx, by.userId, project.id))) return 'not-a-member';
  const made = await tx.run(sql`
    INSERT INTO pools AS p (name, project_id, group_name, owner_id, engine, member, sealed_environment, members_wanted, policy)
    VALUES (${pool.name}, ${project.id}, ${pool.group}, ${by.userId}, ${pool.engine}, ${json(pool.member)}::jsonb,
      ${by.sealedEnvironment}::bytea, ${pool.members}, ${json(pool.policy)}::jsonb)
    ON CONFLICT (name) DO UPDATE SET project_id = excluded.project_id, group_name = excluded.group_name, owner_id = excluded.owner_id,
      engine = excluded.engine, member = excluded.member, sealed_environment = excluded.sealed_environment,
      members_wanted = excluded.members_wanted, policy = excluded.policy, draining = false, removed_at = NULL,
      created_at = now(), changes = p.changes + 1, changed_at = now()
    WHERE p.removed_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pool_members m WHERE m.pool = p.name AND m.closed_at IS NULL)`);
  if (made === 0) return 'exists';
  if (!(await putProjects(tx, pool.name, pool.projects))) throw new Refused('no-project');
  return (await readAnyPool(tx, pool.name)) ?? 'missing';
}

/** A drain wants no members; naming members again ends it. */
export async function changePool(tx: Runner, name: string, change: Change): Promise<Pool | PoolProblem> {
  await lockPool(tx, name);
  const wanted = change.drain === true ? 0 : (change.members ?? null);
  const found = await tx.run(sql`
    UPDATE pools SET members_wanted = coalesce(${wanted}::int, members_wanted), policy = policy || ${json(change.policy ?? {})}::jsonb,
      draining = CASE WHEN ${change.drain === true} THEN true WHEN ${wanted}::int > 0 THEN false ELSE draining END
    WHERE name = ${name} AND removed_at IS NULL`);
  if (found === 0) return 'missing';
  if (change.projects !== undefined && !(await putProjects(tx, name, change.projects))) throw new Refused('no-project');
  await markChanged(tx, name);
  return (await readPoolView(tx, name, everything)) ?? 'missing';
}

/** Its members end; removed again it answers the same. */
export async function removePool(tx: Runner, name: string): Promise<'removed' | PoolProblem> {
  await lockPool(tx, name);
  await closeOrphans(tx, name);
  const row = await tx.first<{ claims: boolean }>(sql`
    SELECT EXISTS (SELECT 1 FROM model_claims c WHERE c.pool = p.name AND c.ended_at IS NULL) AS claims FROM pools p WHERE p.name = ${name}`);
  if (row === undefined) return 'missing';
  if (row.claims) return 'has-claims';
  await tx.run(sql`
    UPDATE pools SET removed_at = now(), members_wanted = 0, changes = changes + 1, changed_at = now()
    WHERE name = ${name} AND removed_at IS NULL`);
  return 'removed';
}
