import type { Domain, Page, PageQuery, Principal, Project, User } from '../../contract/index.js';
import { afterCursor, pageOfRows } from '../cursor.js';
import { codeOf, type Database, type Runner } from '../database.js';
import { type Sql, sql } from '../sql.js';
import type { TenancyStore } from '../store.js';

const UNIQUE_VIOLATION = '23505';
/** An insert that meets its like answers `exists`; anything else is told as it is. */
export async function orExists<Result>(work: () => Promise<Result>): Promise<Result | 'exists'> {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) === UNIQUE_VIOLATION) return 'exists';
    throw error;
  }
}

export const page = (alias: Sql, query: PageQuery): Sql => sql`
  ${afterCursor(query, { created: sql`${alias}.created_at`, id: sql`${alias}.id`, newestFirst: false })}
  ORDER BY ${alias}.created_at, ${alias}.id LIMIT ${query.limit + 1}`;
export const byCreation = <Item extends { readonly createdAt: string; readonly id: string }>(
  rows: Item[],
  query: PageQuery,
): Page<Item> => pageOfRows(rows, query, { item: (row) => row, key: (row) => [row.createdAt, row.id] });

const DOMAIN = sql`SELECT d.id, d.name, d.created_at AS "createdAt" FROM domains d`;
const PROJECT = sql`
  SELECT p.id, p.name, p.domain_id AS "domainId", d.name AS domain, p.created_at AS "createdAt"
  FROM projects p JOIN domains d ON d.id = p.domain_id`;
const USER = sql`
  SELECT u.id, u.name, u.domain_id AS "domainId", d.name AS domain, u.role, u.created_at AS "createdAt",
    (SELECT coalesce(json_agg(json_build_object('id', p.id, 'name', p.name, 'role', m.role) ORDER BY p.name), '[]')
     FROM memberships m JOIN projects p ON p.id = m.project_id WHERE m.user_id = u.id) AS projects
  FROM users u JOIN domains d ON d.id = u.domain_id`;

/** Operators see all, domain-admins their domain, users what is their own. */
export const scoped = (viewer: Principal, { domain, own }: { readonly domain: Sql; readonly own: Sql }): Sql => {
  if (viewer.role === 'operator') return sql`true`;
  return viewer.role === 'domain-admin' ? sql`${domain} = ${viewer.domainId}` : own;
};

async function createUser(
  tx: Runner,
  user: Parameters<TenancyStore['createUser']>[0],
): Promise<User | 'no-domain' | 'no-project'> {
  const domain = await tx.first<{ id: string }>(sql`SELECT id FROM domains WHERE name = ${user.domain}`);
  if (domain === undefined) return 'no-domain';
  const wanted = [...new Set(user.projects)];
  const projects = await tx.rows<{ id: string }>(
    sql`SELECT id FROM projects WHERE domain_id = ${domain.id} AND name = ANY(${wanted}::text[])`,
  );
  if (projects.length !== wanted.length) return 'no-project';
  await tx.run(
    sql`INSERT INTO users (id, name, domain_id, role) VALUES (${user.id}, ${user.name}, ${domain.id}, ${user.role})`,
  );
  await tx.run(sql`
    INSERT INTO memberships (user_id, project_id, role)
    SELECT ${user.id}, id, 'member' FROM unnest(${projects.map((project) => project.id)}::text[]) AS p(id)`);
  return (await tx.first<User>(sql`${USER} WHERE u.id = ${user.id}`)) ?? 'no-domain';
}

const memberWhere = (member: { readonly domain: string; readonly project: string; readonly user: string }): Sql => sql`
  FROM users u, projects p JOIN domains d ON d.id = p.domain_id
  WHERE u.name = ${member.user} AND p.name = ${member.project} AND d.name = ${member.domain} AND u.domain_id = d.id`;

export const createPeople = (
  db: Database,
): Pick<
  TenancyStore,
  | 'createDomain'
  | 'createProject'
  | 'createUser'
  | 'putMember'
  | 'removeMember'
  | 'listDomains'
  | 'listProjects'
  | 'listUsers'
  | 'getUser'
> => ({
  createDomain: ({ id, name }) =>
    orExists(async () => {
      await db.run(sql`INSERT INTO domains (id, name) VALUES (${id}, ${name})`);
      return (await db.first<Domain>(sql`${DOMAIN} WHERE d.id = ${id}`)) ?? 'exists';
    }),
  createProject: ({ id, name, domain }) =>
    orExists(async () => {
      const made = await db.run(
        sql`INSERT INTO projects (id, name, domain_id) SELECT ${id}, ${name}, id FROM domains WHERE name = ${domain}`,
      );
      if (made === 0) return 'no-domain';
      return (await db.first<Project>(sql`${PROJECT} WHERE p.id = ${id}`)) ?? 'no-domain';
    }),
  createUser: (user) => orExists(() => db.transaction((tx) => createUser(tx, user))),
  putMember: async (member) => {
    const put = await db.run(sql`
      INSERT INTO memberships (user_id, project_id, role) SELECT u.id, p.id, ${member.role} ${memberWhere(member)}
      ON CONFLICT (user_id, project_id) DO UPDATE SET role = excluded.role`);
    return put === 1 ? 'ok' : 'missing';
  },
  removeMember: async (member) => {
    const gone = await db.run(sql`
      DELETE FROM memberships WHERE (user_id, project_id) IN (SELECT u.id, p.id ${memberWhere(member)})`);
    return gone === 1 ? 'ok' : 'missing';
  },
  listDomains: async (query, viewer) => {
    const visible = scoped(viewer, { domain: sql`d.id`, own: sql`d.id = ${viewer.domainId}` });
    return byCreation(await db.rows<Domain>(sql`${DOMAIN} WHERE ${visible} AND ${page(sql`d`, query)}`), query);
  },
  listProjects: async (query, viewer) => {
    const visible = scoped(viewer, {
      domain: sql`p.domain_id`,
      own: sql`p.id IN (SELECT project_id FROM memberships WHERE user_id = ${viewer.userId})`,
    });
    return byCreation(await db.rows<Project>(sql`${PROJECT} WHERE ${visible} AND ${page(sql`p`, query)}`), query);
  },
  listUsers: async (query, viewer) => {
    const visible = scoped(viewer, { domain: sql`u.domain_id`, own: sql`u.id = ${viewer.userId}` });
    return byCreation(await db.rows<User>(sql`${USER} WHERE ${visible} AND ${page(sql`u`, query)}`), query);
  },
  getUser: async (name) => (await db.first<User>(sql`${USER} WHERE u.name = ${name}`)) ?? null,
});
