import type { FolderId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { FolderPlace, FolderStore, Mounted } from '../folder-store.js';
import { type Sql, sql } from '../sql.js';

/** Its state, or `missing`. Locked first, so that an admission that mounts it is either seen here or sees it gone. */
async function lockUnmounted(tx: Runner, id: FolderId): Promise<string | Mounted> {
  const folder = await tx.first<{ state: string }>(
    sql`SELECT state FROM folders WHERE id = ${id} AND state <> 'PURGED' FOR UPDATE`,
  );
  if (folder === undefined) return 'missing';
  const mounted = await tx.rows<{ name: string }>(sql`
    SELECT s.name FROM session_mounts m JOIN sessions s ON s.id = m.session_id
    WHERE m.folder_id = ${id} AND s.ended_at IS NULL ORDER BY s.created_at`);
  return mounted.length > 0 ? { mountedBy: mounted.map((session) => session.name) } : folder.state;
}

export async function trash(tx: Runner, id: FolderId): ReturnType<FolderStore['trash']> {
  const state = await lockUnmounted(tx, id);
  if (typeof state !== 'string') return state;
  if (state !== 'READY' && state !== 'TRASH') return 'missing';
  await tx.run(sql`UPDATE folders SET state = 'TRASH', trashed_at = now() WHERE id = ${id} AND state = 'READY'`);
  return 'ok';
}

export async function restore(tx: Runner, id: FolderId): Promise<'ok' | 'missing'> {
  const touched = await tx.run(sql`
    UPDATE folders SET state = 'READY', trashed_at = NULL WHERE id = ${id} AND state IN ('TRASH', 'READY')`);
  return touched === 1 ? 'ok' : 'missing';
}

export async function remove(tx: Runner, id: FolderId): ReturnType<FolderStore['remove']> {
  const state = await lockUnmounted(tx, id);
  if (typeof state !== 'string') return state;
  if (state === 'missing') return 'missing';
  await tx.run(sql`UPDATE folders SET state = 'PURGING' WHERE id = ${id} AND state <> 'PURGED'`);
  return 'ok';
}

const isMounted: Sql = sql`EXISTS (
  SELECT 1 FROM session_mounts m JOIN sessions s ON s.id = m.session_id WHERE m.folder_id = f.id AND s.ended_at IS NULL)`;

/** What the trash kept for its volume's retention is purged. Nothing in the trash is mounted; it is asked all the same. */
export async function purging(tx: Runner, limit: number): Promise<readonly FolderPlace[]> {
  await tx.run(sql`
    UPDATE folders SET state = 'PURGING' WHERE id IN (
      SELECT f.id FROM folders f JOIN volumes v ON v.name = f.volume
      WHERE f.state = 'TRASH' AND f.trashed_at < now() - v.retention_seconds * interval '1 s' AND NOT ${isMounted}
      ORDER BY f.trashed_at LIMIT ${limit} FOR UPDATE OF f)`);
  return tx.rows<FolderPlace>(
    sql`SELECT id, volume FROM folders WHERE state = 'PURGING' ORDER BY created_at, id LIMIT ${limit}`,
  );
}
