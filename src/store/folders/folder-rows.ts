import type { Folder, FolderPermission, Principal } from '../../contract/index.js';
import { type Sql, sql } from '../sql.js';

type Row = Omit<Folder, 'permissions' | 'mayManage'> & { readonly rights: readonly (FolderPermission | 'own')[] };

/** As the viewer sees it: what it may do is read with the row. */
export const folderRows = (viewer: Principal): Sql => sql`
  SELECT f.id, f.name, p.name AS project, u.name AS owner, f.owned_by AS "ownedBy", f.volume, f.usage, f.state,
    to_json(f.member_permissions) AS "memberPermissions", to_json(r.rights) AS rights, f.used_bytes AS bytes,
    f.used_files AS files, f.counted_at AS "countedAt", f.trashed_at AS "trashedAt",
    CASE WHEN f.state = 'TRASH' THEN f.trashed_at + coalesce(v.retention_seconds, 0) * interval '1 s' END AS "purgeAt",
    f.created_at AS "createdAt"
  FROM folders f JOIN projects p ON p.id = f.project_id JOIN users u ON u.id = f.owner_id
  LEFT JOIN volumes v ON v.name = f.volume
  CROSS JOIN LATERAL (SELECT folder_permissions(f, ${viewer.userId}) AS rights) r`;

export const visible: Sql = sql`f.state <> 'PURGED' AND r.rights <> '{}'`;

export function toFolder({ rights, ...row }: Row): Folder {
  const own = (one: FolderPermission | 'own') => rights.includes(one);
  const permissions = (['read', 'write', 'delete'] as const).filter(own);
  return { ...row, permissions, mayManage: own('own') };
}
export type FolderRow = Row;
