import type { Plan } from '../../contract/index.js';
import type { StoreContext } from '../context.js';
import { advisoryKey, type Connection, codeOf } from '../database.js';
import { sql } from '../sql.js';
import type { OpenPass } from '../store.js';
import { commitPlan } from './commit-plan.js';
import { foldReleased } from './fold.js';
import { forgetRoom } from './keep-room.js';
import { type Base, readBase } from './read-base.js';
import { type QueuePlace, readPending } from './read-pending.js';

export const PAGE_SIZE = 256;
const LOCK_NOT_AVAILABLE = '55P03';

/** A session-level lock on the pass's own connection: a planner that dies frees it with its connection. */
async function tryLock(connection: Connection, group: string, waitMs: number): Promise<boolean> {
  await connection.run(sql`SELECT set_config('lock_timeout', ${`${Math.max(1, Math.round(waitMs))}ms`}, false)`);
  try {
    await connection.run(sql`SELECT pg_advisory_lock(${advisoryKey(`group:${group}`)})`);
    return true;
  } catch (error) {
    if (codeOf(error) === LOCK_NOT_AVAILABLE) return false;
    throw error;
  } finally {
    await connection.run(sql`RESET lock_timeout`).catch(() => undefined);
  }
}

/** `dirty` goes off before anything is read: what comes later turns it on again, and is seen by the next pass. */
async function readUnderLock({ nodeCache }: StoreContext, connection: Connection, group: string) {
  await connection.run(
    sql`UPDATE group_dirty SET dirty_at = NULL WHERE group_name = ${group} AND dirty_at IS NOT NULL`,
  );
  await connection.transaction(async (tx) => {
    await foldReleased(tx, group);
    await forgetRoom(tx, group);
  });
  return connection.transaction(
    (tx) => readBase(tx, group, { cache: nodeCache, running: 'where it matters' }),
    'snapshot',
  );
}

function passOf({ notifier }: StoreContext, connection: Connection, { base, flags }: Base): OpenPass {
  const group = base.group.name;
  let place: QueuePlace | null = null;
  let isOpen = true;
  return {
    base,
    flags,
    nextPage: async () => {
      const { page, last } = await readPending(connection, group, { after: place, limit: PAGE_SIZE });
      place = last;
      return page;
    },
    commit: async (plan: Plan) => {
      const { committed, changed } = await commitPlan(connection, plan);
      notifier.changed(changed);
      return committed;
    },
    close: async () => {
      if (!isOpen) return;
      isOpen = false;
      try {
        await connection.run(sql`SELECT pg_advisory_unlock(${advisoryKey(`group:${group}`)})`);
        connection.release();
      } catch {
        connection.release(true);
      }
    },
  };
}

/** Null when there is no such group, or another planner has it for longer than `waitMs`. */
export async function openPass(context: StoreContext, group: string, waitMs: number): Promise<OpenPass | null> {
  const connection = await context.db.connect();
  try {
    if (!(await tryLock(connection, group, waitMs))) {
      connection.release();
      return null;
    }
    const base = await readUnderLock(context, connection, group);
    if (base !== null) return passOf(context, connection, base);
    connection.release(true);
    return null;
  } catch (error) {
    connection.release(true);
    throw error;
  }
}
