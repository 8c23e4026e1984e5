import type { Folder, FolderId, Page, Volume } from '../../contract/index.js';
import type { StoreContext } from '../context.js';
import type { Database, Runner } from '../database.js';
import type { FolderPlace, FolderStore } from '../folder-store.js';
import { sql } from '../sql.js';
import { byCreation, orExists, page } from '../tenancy/people.js';
import { create } from './create.js';
import { type FolderRow, folderRows, toFolder, visible } from './folder-rows.js';
import { answer, give, invitationsFor, invitationsOf, invite, revoke } from './invitations.js';
import { purging, remove, restore, trash } from './life.js';
import { byteLimits, owners } from './owners.js';

/** A change that a limit refuses is rolled back: it is thrown through the transaction, and answered outside. */
class Refused extends Error {
  readonly answer: object;
  constructor(answer: object) {
    super('over a limit');
    this.answer = answer;
  }
}

function undoing<Result>(db: Database, work: (tx: Runner) => Promise<Result>): Promise<Result> {
  return db
    .transaction(async (tx) => {
      const result = await work(tx);
      if (typeof result === 'object' && result !== null && 'limit' in result) throw new Refused(result);
      return result;
    })
    .catch((error: unknown) => {
      if (error instanceof Refused) return error.answer as Result;
      throw error;
    });
}

const find = async (db: Runner, ...[idOrName, viewer]: Parameters<FolderStore['find']>): Promise<Folder | null> => {
  const row = await db.first<FolderRow>(sql`
    ${folderRows(viewer)} WHERE (f.id = ${idOrName} OR f.name = ${idOrName}) AND ${visible}
    ORDER BY f.id = ${idOrName} DESC, f.state IN ('READY', 'CLONING') DESC, f.state = 'TRASH' DESC,
      (f.owned_by = 'user' AND f.owner_id = ${viewer.userId}) DESC, f.created_at DESC LIMIT 1`);
  return row === undefined ? null : toFolder(row);
};

async function list(db: Runner, ...[query, viewer]: Parameters<FolderStore['list']>): Promise<Page<Folder>> {
  const state = query.state ?? null;
  const inState = state === null ? sql`true` : sql`f.state = ${state}`;
  const rows = await db.rows<FolderRow>(
    sql`${folderRows(viewer)} WHERE ${visible} AND ${inState} AND ${page(sql`f`, query)}`,
  );
  return byCreation(rows.map(toFolder), query);
}

const VOLUME = sql`
  SELECT v.name, v.retention_seconds AS "retentionSeconds",
    (SELECT count(*)::int FROM folders f WHERE f.volume = v.name AND f.state <> 'PURGED') AS folders
  FROM volumes v`;
type VolumeRow = Omit<Volume, 'isServed'>;

const bytes = (db: Database): Pick<FolderStore, 'byteLimits' | 'counted' | 'owners' | 'leastRecentlyCounted'> => ({
  byteLimits: (id) => byteLimits(db, id),
  counted: async (id, count) => {
    await db.run(sql`
      UPDATE folders SET used_bytes = ${count.bytes}, used_files = ${count.files}, counted_at = now() WHERE id = ${id}`);
  },
  owners: (viewer) => owners(db, viewer),
  leastRecentlyCounted: (limit) =>
    db.rows<FolderPlace>(sql`
      SELECT id, volume FROM folders WHERE state IN ('READY', 'TRASH') ORDER BY counted_at NULLS FIRST, id LIMIT ${limit}`),
});

const life = (
  db: Database,
): Pick<FolderStore, 'trash' | 'restore' | 'remove' | 'purged' | 'purging' | 'cloning' | 'cloned'> => ({
  trash: (id) => db.transaction((tx) => trash(tx, id)),
  restore: (id) => orExists(() => db.transaction((tx) => restore(tx, id))),
  remove: (id) => db.transaction((tx) => remove(tx, id)),
  purged: async (id) => {
    await db.run(sql`UPDATE folders SET state = 'PURGED' WHERE id = ${id} AND state = 'PURGING'`);
  },
  purging: (limit) => db.transaction((tx) => purging(tx, limit)),
  cloning: (limit) =>
    db.rows<FolderPlace & { cloneOf: FolderId }>(sql`
      SELECT id, volume, clone_of AS "cloneOf" FROM folders WHERE state = 'CLONING' ORDER BY created_at, id LIMIT ${limit}`),
  cloned: async (id) => {
    await db.run(sql`UPDATE folders SET state = 'READY' WHERE id = ${id} AND state = 'CLONING'`);
  },
});

export const createFolderStore = ({ db }: StoreContext): FolderStore => ({
  create: (folder, owner) => orExists(() => undoing(db, (tx) => create(tx, folder, owner))),
  find: (idOrName, viewer) => find(db, idOrName, viewer),
  list: (query, viewer) => list(db, query, viewer),
  patch: (id, { name = null, usage = null, memberPermissions = null }) =>
    orExists(async () => {
      const members = memberPermissions === null ? null : [...new Set(memberPermissions)];
      await db.run(sql`
        UPDATE folders SET name = coalesce(${name}, name), usage = coalesce(${usage}, usage),
          member_permissions = coalesce(${members}::text[], member_permissions) WHERE id = ${id}`);
      return 'ok' as const;
    }),
  ...life(db),
  give: (id, to) => orExists(() => undoing(db, (tx) => give(tx, id, to))),
  invite: (invitation) => db.transaction((tx) => invite(tx, invitation)),
  invitationsOf: (id) => invitationsOf(db, id),
  invitationsFor: (user) => invitationsFor(db, user),
  answer: (id, { userId }, said) => orExists(() => undoing(db, (tx) => answer(tx, id, { userId, answer: said }))),
  revoke: (id, user) => db.transaction((tx) => revoke(tx, id, user)),
  ...bytes(db),
  volumes: () => db.rows<VolumeRow>(sql`${VOLUME} ORDER BY v.created_at, v.name`),
  putVolume: async (name, retentionSeconds) => {
    await db.run(sql`UPDATE volumes SET retention_seconds = ${retentionSeconds} WHERE name = ${name}`);
    return (await db.first<VolumeRow>(sql`${VOLUME} WHERE v.name = ${name}`)) ?? null;
  },
});
