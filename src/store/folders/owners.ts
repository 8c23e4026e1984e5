import type { FolderId, FolderOwnerUsage, Principal, StorageAdmission } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { TooManyFolders } from '../folder-store.js';
import { type Sql, sql } from '../sql.js';

/** Scopes whose limits bind a folder: its owner, and its domain. */
const scopesOf = (folder: Sql): Sql => sql`
  SELECT CASE f.owned_by WHEN 'user' THEN 'user' ELSE 'project' END AS scope,
    CASE f.owned_by WHEN 'user' THEN f.owner_id ELSE f.project_id END AS id,
    CASE f.owned_by WHEN 'user' THEN u.name ELSE p.name END AS name
  FROM ${folder} f JOIN users u ON u.id = f.owner_id JOIN projects p ON p.id = f.project_id
  UNION ALL
  SELECT 'domain', d.id, d.name FROM ${folder} f JOIN projects p ON p.id = f.project_id JOIN domains d ON d.id = p.domain_id`;

/** Folders that count against a scope: what is not purged, the trash too. */
const countsAgainst: Sql = sql`
  f.state <> 'PURGED' AND CASE s.scope
    WHEN 'user' THEN f.owned_by = 'user' AND f.owner_id = s.id
    WHEN 'project' THEN f.owned_by = 'project' AND f.project_id = s.id
    ELSE f.project_id IN (SELECT id FROM projects WHERE domain_id = s.id) END`;

/** Asked once the folder is there, in the same transaction: the limits' rows are locked, so two at once count each other. */
export async function tooMany(tx: Runner, id: FolderId): Promise<TooManyFolders | null> {
  const rows = await tx.rows<{ scope: string; name: string; scope_id: string; folders: number }>(sql`
    SELECT s.scope, s.name, q.scope_id, (q.limits->>'folders')::int AS folders
    FROM (${scopesOf(sql`(SELECT * FROM folders WHERE id = ${id})`)}) s
    JOIN quotas q ON q.scope = s.scope AND q.scope_id = s.id
    WHERE q.limits->>'folders' IS NOT NULL ORDER BY q.scope, q.scope_id FOR UPDATE OF q`);
  for (const { scope, name, scope_id, folders } of rows) {
    const held = await tx.first<{ held: number }>(sql`
      SELECT count(*)::int AS held FROM (SELECT ${scope}::text AS scope, ${scope_id}::text AS id) s JOIN folders f ON ${countsAgainst}`);
    if ((held?.held ?? 0) > folders) return { limit: { scope, name, folders } };
  }
  return null;
}

export async function byteLimits(tx: Runner, id: FolderId): Promise<StorageAdmission['limits']> {
  const rows = await tx.rows<StorageAdmission['limits'][number]>(sql`
    SELECT s.scope || ' ' || s.name AS name, (q.limits->>'folderBytes')::bigint AS "limitBytes",
      (SELECT coalesce(json_agg(json_build_object('volume', f.volume, 'folderId', f.id) ORDER BY f.id), '[]')
       FROM folders f WHERE ${countsAgainst}) AS folders
    FROM (${scopesOf(sql`(SELECT * FROM folders WHERE id = ${id})`)}) s
    JOIN quotas q ON q.scope = s.scope AND q.scope_id = s.id WHERE q.limits->>'folderBytes' IS NOT NULL`);
  return rows;
}

interface OwnerRow {
  readonly scope: FolderOwnerUsage['scope'];
  readonly name: string;
  readonly folders: number;
  readonly bytes: number;
  readonly folderLimit: number | null;
  readonly byteLimit: number | null;
}

export async function owners(tx: Runner, viewer: Principal): Promise<readonly FolderOwnerUsage[]> {
  const rows = await tx.rows<OwnerRow>(sql`
    SELECT s.scope, s.name, count(f.id)::int AS folders, coalesce(sum(f.used_bytes), 0)::bigint AS bytes,
      (max(q.limits->>'folders'))::bigint AS "folderLimit", (max(q.limits->>'folderBytes'))::bigint AS "byteLimit"
    FROM (
      SELECT 0 AS place, 'user' AS scope, u.id, u.name FROM users u WHERE u.id = ${viewer.userId}
      UNION ALL SELECT 1, 'project', p.id, p.name FROM memberships m JOIN projects p ON p.id = m.project_id WHERE m.user_id = ${viewer.userId}
      UNION ALL SELECT 2, 'domain', d.id, d.name FROM domains d WHERE d.id = ${viewer.domainId}) s
    LEFT JOIN folders f ON ${countsAgainst}
    LEFT JOIN quotas q ON q.scope = s.scope AND q.scope_id = s.id
    GROUP BY s.place, s.scope, s.id, s.name ORDER BY s.place, s.name`);
  return rows.map(({ scope, name, folders, bytes, folderLimit, byteLimit }) => ({
    scope,
    name,
    folders: { used: folders, limit: folderLimit },
    bytes: { used: bytes, limit: byteLimit },
  }));
}
