import type { Group, GroupPolicy, PageQuery, Principal } from '../../contract/index.js';
import { afterCursor, pageOfRows } from '../cursor.js';
import type { Database, Runner } from '../database.js';
import { json, type Sql, sql } from '../sql.js';
import type { SettingsStore } from '../store.js';
import { orExists } from '../tenancy/people.js';
import { patchedPolicy, policyOf } from './policy.js';

const groupsWhere = (where: Sql): Sql => sql`
  SELECT g.name, g.policy, g.version::text AS etag, g.created_at AS "createdAt",
    CASE WHEN b.state = 'PENDING' THEN g.blocked_by END AS "blockedBy",
    (SELECT count(*)::int FROM nodes n WHERE n.group_name = g.name AND n.removed_at IS NULL) AS nodes,
    (SELECT count(*)::int FROM sessions s WHERE s.group_name = g.name AND s.state = 'PENDING') AS "pendingSessions",
    (SELECT count(*)::int FROM sessions s WHERE s.group_name = g.name AND s.state = 'RUNNING') AS "runningSessions",
    (SELECT coalesce(json_agg(d.name ORDER BY d.name), '[]') FROM group_access a JOIN domains d ON d.id = a.domain_id
     WHERE a.group_name = g.name) AS domains,
    (SELECT coalesce(json_agg(d.name || '/' || p.name ORDER BY d.name, p.name), '[]') FROM group_access a
     JOIN projects p ON p.id = a.project_id JOIN domains d ON d.id = p.domain_id WHERE a.group_name = g.name) AS projects
  FROM resource_groups g LEFT JOIN sessions b ON b.id = g.blocked_by WHERE ${where}`;

const mayUse = (viewer: Principal): Sql =>
  viewer.role === 'operator'
    ? sql`true`
    : sql`(NOT EXISTS (SELECT 1 FROM group_access a WHERE a.group_name = g.name)
        OR EXISTS (SELECT 1 FROM group_access a WHERE a.group_name = g.name
          AND (a.domain_id = ${viewer.domainId} OR a.project_id = ANY(${viewer.projects.map((project) => project.id)}::text[]))))`;

interface Access {
  readonly domains: readonly string[];
  readonly projects: readonly string[];
}

/** False when a name is unknown: nothing may be opened to a scope that is not there. */
async function writeAccess(tx: Runner, group: string, { domains, projects }: Access): Promise<boolean> {
  await tx.run(sql`DELETE FROM group_access WHERE group_name = ${group}`);
  const put = await tx.run(sql`
    INSERT INTO group_access (group_name, domain_id, project_id)
    SELECT ${group}, d.id, NULL FROM domains d WHERE d.name = ANY(${domains}::text[])
    UNION ALL
    SELECT ${group}, NULL, p.id FROM projects p JOIN domains d ON d.id = p.domain_id
    WHERE d.name || '/' || p.name = ANY(${projects}::text[])`);
  return put === new Set(domains).size + new Set(projects).size;
}

/** Thrown to roll back what was written before the unknown name was met. */
class UnknownScope extends Error {
  override readonly name = 'UnknownScope';
  constructor(readonly answer: 'no-scope' | 'no-guaranteed-project') {
    super(answer);
  }
}
const orNoScope = async <Result>(work: () => Promise<Result>): Promise<Result | UnknownScope['answer']> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnknownScope) return error.answer;
    throw error;
  }
};

const toGroup = (row: Group): Group => ({ ...row, policy: policyOf(row.policy) });

async function readGroup(tx: Runner, where: Sql): Promise<Group | undefined> {
  const row = await tx.first<Group>(groupsWhere(where));
  return row === undefined ? undefined : toGroup(row);
}

/** A guarantee for nobody would keep GPUs from everybody. */
async function requireProjects(tx: Runner, { guarantees }: GroupPolicy): Promise<void> {
  const projects = [...new Set(guarantees.flatMap(({ project }) => project ?? []))];
  if (projects.length === 0) return;
  const known = await tx.rows(sql`
    SELECT 1 FROM projects p JOIN domains d ON d.id = p.domain_id WHERE d.name || '/' || p.name = ANY(${projects}::text[])`);
  if (known.length !== projects.length) throw new UnknownScope('no-guaranteed-project');
}

async function createGroup(tx: Runner, group: Parameters<SettingsStore['createGroup']>[0]): Promise<Group | 'exists'> {
  const made = await tx.run(
    sql`INSERT INTO resource_groups (name, policy) VALUES (${group.name}, ${json(group.policy)}::jsonb) ON CONFLICT DO NOTHING`,
  );
  if (made === 0) return 'exists';
  await tx.run(sql`INSERT INTO group_dirty (group_name) VALUES (${group.name})`);
  if (!(await writeAccess(tx, group.name, group))) throw new UnknownScope('no-scope');
  await requireProjects(tx, group.policy);
  return (await readGroup(tx, sql`g.name = ${group.name}`)) ?? 'exists';
}

type Patch = Parameters<SettingsStore['patchGroup']>[1];

async function patchGroup(tx: Runner, name: string, patch: Patch): Promise<Group | 'missing' | 'stale'> {
  const row = await tx.first<{ version: number; policy: unknown }>(
    sql`SELECT version, policy FROM resource_groups WHERE name = ${name} FOR NO KEY UPDATE`,
  );
  if (row === undefined) return 'missing';
  if (patch.ifMatch !== null && patch.ifMatch !== String(row.version)) return 'stale';
  const before = await readGroup(tx, sql`g.name = ${name}`);
  const policy = patchedPolicy(policyOf(row.policy), patch.policy);
  if (patch.policy?.guarantees !== undefined) await requireProjects(tx, policy);
  await tx.run(sql`
    UPDATE resource_groups SET policy = ${json(policy)}::jsonb, version = version + 1, generation = generation + 1 WHERE name = ${name}`);
  if (patch.domains !== undefined || patch.projects !== undefined) {
    const access = {
      domains: patch.domains ?? before?.domains ?? [],
      projects: patch.projects ?? before?.projects ?? [],
    };
    if (!(await writeAccess(tx, name, access))) throw new UnknownScope('no-scope');
  }
  return (await readGroup(tx, sql`g.name = ${name}`)) ?? 'missing';
}

async function listGroups(db: Database, query: PageQuery, viewer: Principal) {
  const after = afterCursor(query, { created: sql`g.created_at`, id: sql`g.name`, newestFirst: false });
  const rows = await db.rows<Group>(
    sql`${groupsWhere(sql`${mayUse(viewer)} AND ${after}`)} ORDER BY g.created_at, g.name LIMIT ${query.limit + 1}`,
  );
  return pageOfRows(rows, query, { item: toGroup, key: (row) => [row.createdAt, row.name] });
}

export const createGroups = (
  db: Database,
): Pick<SettingsStore, 'createGroup' | 'patchGroup' | 'listGroups' | 'getGroup'> => ({
  createGroup: (group) => orNoScope(() => orExists(() => db.transaction((tx) => createGroup(tx, group)))),
  patchGroup: (name, patch) => orNoScope(() => db.transaction((tx) => patchGroup(tx, name, patch))),
  listGroups: (query, viewer) => listGroups(db, query, viewer),
  getGroup: async (name, viewer) => (await readGroup(db, sql`g.name = ${name} AND ${mayUse(viewer)}`)) ?? null,
});
