import type { Folder, Principal } from '../contract/index.js';
import type { StoreContext } from './context.js';
import type { Runner } from './database.js';
import { type Sql, sql } from './sql.js';
import type { FolderStore } from './store.js';
import { byCreation, orExists, page, scoped } from './tenancy/people.js';

const FOLDER = sql`
  SELECT f.id, f.name, p.name AS project, u.name AS owner, f.volume, f.usage, f.state, f.created_at AS "createdAt"
  FROM folders f JOIN projects p ON p.id = f.project_id JOIN users u ON u.id = f.owner_id`;

const visible = (viewer: Principal): Sql => {
  const own = sql`f.project_id IN (SELECT project_id FROM memberships WHERE user_id = ${viewer.userId})`;
  return sql`f.state <> 'PURGED' AND ${scoped(viewer, { domain: sql`p.domain_id`, own })}`;
};

/** The project that the owner named, in its own domain, or its first one. */
const projectOf = (asked: string | null, owner: Principal): Sql => {
  const [domain, name] = asked?.includes('/') ? asked.split('/') : [owner.domainName, asked];
  return asked === null
    ? sql`SELECT project_id AS id FROM memberships WHERE user_id = ${owner.userId} ORDER BY created_at, project_id LIMIT 1`
    : sql`SELECT p.id FROM projects p JOIN domains d ON d.id = p.domain_id WHERE p.name = ${name ?? ''} AND d.name = ${domain ?? ''}`;
};

type NewFolder = Parameters<FolderStore['create']>[0];

/** The same id again answers the folder that it made. */
async function create(tx: Runner, folder: NewFolder, owner: Principal): Promise<Folder | 'no-project'> {
  const mayWrite =
    owner.role === 'operator'
      ? sql`true`
      : sql`EXISTS (SELECT 1 FROM memberships WHERE user_id = ${owner.userId} AND project_id = chosen.id)`;
  await tx.run(sql`
    INSERT INTO folders (id, name, project_id, owner_id, volume, usage)
    SELECT ${folder.id}, ${folder.name}, chosen.id, ${owner.userId}, ${folder.volume}, ${folder.usage}
    FROM (${projectOf(folder.project, owner)}) chosen WHERE ${mayWrite} ON CONFLICT (id) DO NOTHING`);
  return (await tx.first<Folder>(sql`${FOLDER} WHERE f.id = ${folder.id}`)) ?? 'no-project';
}

/** Locked first, so that an admission that mounts it is either seen here or sees it gone. */
async function remove(tx: Runner, id: string): ReturnType<FolderStore['remove']> {
  const folder = await tx.first(sql`SELECT 1 FROM folders WHERE id = ${id} AND state <> 'PURGED' FOR UPDATE`);
  if (folder === undefined) return 'missing';
  const mounted = await tx.rows<{ name: string }>(sql`
    SELECT s.name FROM session_mounts m JOIN sessions s ON s.id = m.session_id
    WHERE m.folder_id = ${id} AND s.ended_at IS NULL ORDER BY s.created_at`);
  if (mounted.length > 0) return { mountedBy: mounted.map((session) => session.name) };
  await tx.run(sql`UPDATE folders SET state = 'PURGING' WHERE id = ${id} AND state = 'READY'`);
  return 'ok';
}

export const createFolderStore = ({ db }: StoreContext): FolderStore => ({
  create: (folder, owner) => orExists(() => db.transaction((tx) => create(tx, folder, owner))),
  find: async (idOrName, viewer) =>
    (await db.first<Folder>(sql`
      ${FOLDER} WHERE (f.id = ${idOrName} OR f.name = ${idOrName}) AND ${visible(viewer)}
      ORDER BY f.id = ${idOrName} DESC, f.state = 'READY' DESC, f.owner_id = ${viewer.userId} DESC, f.created_at DESC LIMIT 1`)) ??
    null,
  list: async (query, viewer) =>
    byCreation(await db.rows<Folder>(sql`${FOLDER} WHERE ${visible(viewer)} AND ${page(sql`f`, query)}`), query),
  remove: (id) => db.transaction((tx) => remove(tx, id)),
  purged: async (id) => {
    await db.run(sql`UPDATE folders SET state = 'PURGED' WHERE id = ${id} AND state = 'PURGING'`);
  },
  purging: (limit) =>
    db.rows<Pick<Folder, 'id' | 'volume'>>(
      sql`SELECT id, volume FROM folders WHERE state = 'PURGING' ORDER BY created_at, id LIMIT ${limit}`,
    ),
});
