import type { Folder, Principal } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { NewFolder, TooManyFolders } from '../folder-store.js';
import { type Sql, sql } from '../sql.js';
import { type FolderRow, folderRows, toFolder } from './folder-rows.js';
import { tooMany } from './owners.js';

/** The project that the owner named, in its own domain, or its first one. */
export const projectOf = (asked: string | null, owner: Principal): Sql => {
  const [domain, name] = asked?.includes('/') ? asked.split('/') : [owner.domainName, asked];
  return asked === null
    ? sql`SELECT project_id AS id FROM memberships WHERE user_id = ${owner.userId} ORDER BY created_at, project_id LIMIT 1`
    : sql`SELECT p.id FROM projects p JOIN domains d ON d.id = p.domain_id WHERE p.name = ${name ?? ''} AND d.name = ${domain ?? ''}`;
};

export async function create(
  tx: Runner,
  folder: NewFolder,
  owner: Principal,
): Promise<Folder | 'no-project' | TooManyFolders> {
  const mayWrite =
    owner.role === 'operator'
      ? sql`true`
      : sql`EXISTS (SELECT 1 FROM memberships WHERE user_id = ${owner.userId} AND project_id = chosen.id)`;
  const { ownedBy = 'user', cloneOf = null } = folder;
  const members = folder.memberPermissions ?? (ownedBy === 'user' ? [] : ['read', 'write', 'delete']);
  const made = await tx.run(sql`
    INSERT INTO folders (id, name, project_id, owner_id, volume, usage, owned_by, member_permissions, clone_of, state, used_bytes, used_files)
    SELECT ${folder.id}, ${folder.name}, chosen.id, ${owner.userId}, ${folder.volume}, ${folder.usage}, ${ownedBy},
      ${[...new Set(members)]}::text[], ${cloneOf}, ${cloneOf === null ? 'READY' : 'CLONING'}, 0, 0
    FROM (${projectOf(folder.project, owner)}) chosen WHERE ${mayWrite} ON CONFLICT (id) DO NOTHING`);
  const over = made === 0 ? null : await tooMany(tx, folder.id);
  if (over !== null) return over;
  const row = await tx.first<FolderRow>(sql`${folderRows(owner)} WHERE f.id = ${folder.id}`);
  return row === undefined ? 'no-project' : toFolder(row);
}
