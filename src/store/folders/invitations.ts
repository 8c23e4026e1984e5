import type { FolderId, FolderInvitation, Principal } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { FolderStore, TooManyFolders } from '../folder-store.js';
import { type Sql, sql } from '../sql.js';
import { projectOf } from './create.js';
import { tooMany } from './owners.js';

const INVITATION = sql`
  SELECT i.id, i.folder_id AS "folderId", f.name AS folder, o.name AS owner, u.name AS user, to_json(i.permissions) AS permissions,
    i.ownership, i.state, b.name AS "invitedBy", i.created_at AS "createdAt"
  FROM folder_invitations i JOIN folders f ON f.id = i.folder_id JOIN users o ON o.id = f.owner_id
  JOIN users u ON u.id = i.user_id JOIN users b ON b.id = i.invited_by`;

const read = (tx: Runner, where: Sql): Promise<FolderInvitation[]> =>
  tx.rows<FolderInvitation>(
    sql`${INVITATION} WHERE f.state IN ('READY', 'TRASH', 'CLONING') AND ${where} ORDER BY i.created_at, i.id`,
  );

export const invitationsOf = (tx: Runner, id: FolderId): Promise<FolderInvitation[]> =>
  read(tx, sql`i.folder_id = ${id} AND i.state IN ('PENDING', 'ACCEPTED')`);
export const invitationsFor = (tx: Runner, user: Principal): Promise<FolderInvitation[]> =>
  read(tx, sql`i.user_id = ${user.userId} AND i.state = 'PENDING'`);

/** An accepted one stays accepted when its permissions change. */
export async function invite(
  tx: Runner,
  { id, folderId, user, permissions, ownership, by }: Parameters<FolderStore['invite']>[0],
): Promise<FolderInvitation | 'no-user'> {
  await tx.run(sql`
    INSERT INTO folder_invitations (id, folder_id, user_id, permissions, ownership, invited_by)
    SELECT ${id}, f.id, u.id, ${[...new Set(permissions)]}::text[], ${ownership}, ${by.userId}
    FROM folders f JOIN projects p ON p.id = f.project_id JOIN users u ON u.domain_id = p.domain_id
    WHERE f.id = ${folderId} AND u.name = ${user}
    ON CONFLICT (folder_id, user_id, ownership) WHERE state IN ('PENDING', 'ACCEPTED')
    DO UPDATE SET permissions = excluded.permissions, invited_by = excluded.invited_by`);
  const made = await read(
    tx,
    sql`i.folder_id = ${folderId} AND u.name = ${user} AND i.ownership = ${ownership} AND i.state IN ('PENDING', 'ACCEPTED')`,
  );
  return made[0] ?? 'no-user';
}

export async function revoke(tx: Runner, id: FolderId, user: string): Promise<boolean> {
  const touched = await tx.run(sql`
    UPDATE folder_invitations SET state = 'REVOKED', answered_at = now()
    WHERE folder_id = ${id} AND state IN ('PENDING', 'ACCEPTED') AND user_id = (SELECT id FROM users WHERE name = ${user})`);
  return touched > 0;
}

/** Rights that the old owner gave end with its ownership. */
async function endInvitations(tx: Runner, id: FolderId): Promise<void> {
  await tx.run(sql`
    UPDATE folder_invitations SET state = 'REVOKED', answered_at = now()
    WHERE folder_id = ${id} AND state IN ('PENDING', 'ACCEPTED')`);
}

async function giveToUser(tx: Runner, id: FolderId, userId: string): Promise<'ok' | TooManyFolders> {
  await tx.run(sql`
    UPDATE folders SET owned_by = 'user', owner_id = ${userId}, member_permissions = '{}' WHERE id = ${id}`);
  await endInvitations(tx, id);
  return (await tooMany(tx, id)) ?? 'ok';
}

export async function give(
  tx: Runner,
  id: FolderId,
  to: Parameters<FolderStore['give']>[1],
): Promise<'ok' | 'no-owner' | TooManyFolders> {
  if ('user' in to) {
    const user = await tx.first<{ id: string }>(sql`
      SELECT u.id FROM users u JOIN projects p ON p.domain_id = u.domain_id JOIN folders f ON f.project_id = p.id
      WHERE f.id = ${id} AND u.name = ${to.user}`);
    return user === undefined ? 'no-owner' : giveToUser(tx, id, user.id);
  }
  const given = await tx.run(sql`
    UPDATE folders f SET owned_by = 'project', project_id = chosen.id,
      member_permissions = CASE WHEN f.member_permissions = '{}' THEN '{read,write,delete}' ELSE f.member_permissions END
    FROM (${projectOf(to.project, to.giver)}) chosen JOIN projects p ON p.id = chosen.id
    WHERE f.id = ${id} AND p.domain_id = (SELECT domain_id FROM projects WHERE id = f.project_id)
      AND (${to.giver.role !== 'user'} OR EXISTS (
        SELECT 1 FROM memberships WHERE user_id = ${to.giver.userId} AND project_id = chosen.id))`);
  if (given === 0) return 'no-owner';
  await endInvitations(tx, id);
  return (await tooMany(tx, id)) ?? 'ok';
}

export async function answer(
  tx: Runner,
  id: string,
  { userId, answer }: { readonly userId: string; readonly answer: 'ACCEPTED' | 'DECLINED' },
): Promise<{ readonly folderId: FolderId } | 'missing' | TooManyFolders> {
  const row = await tx.first<{ folderId: FolderId; ownership: boolean; state: string }>(sql`
    SELECT folder_id AS "folderId", ownership, state FROM folder_invitations
    WHERE id = ${id} AND user_id = ${userId} AND state IN ('PENDING', 'ACCEPTED') FOR UPDATE`);
  if (row === undefined) return 'missing';
  const { folderId } = row;
  await tx.run(sql`UPDATE folder_invitations SET state = ${answer}, answered_at = now() WHERE id = ${id}`);
  if (!row.ownership || answer === 'DECLINED') return { folderId };
  const given = await giveToUser(tx, folderId, userId);
  return given === 'ok' ? { folderId } : given;
}
