import type { PoolPlan } from '../../contract/index.js';
import type { StoreContext } from '../context.js';
import { type Connection, codeOf } from '../database.js';
import type { CommittedTurn, OpenTurn } from '../model-store.js';
import { sql } from '../sql.js';
import { closeOrphans } from './close-orphans.js';
import { commitTurn } from './commit-turn.js';
import { poolKey } from './pool-lock.js';
import { type ReadPool, readPool } from './read-snapshot.js';

const LOCK_NOT_AVAILABLE = '55P03';
/** A planner that hangs loses its connection, and the lock with it: whoever writes to the pool waits for it until then. */
const HUNG_AFTER = '15s';

const setting = (connection: Connection, name: string, value: string) =>
  connection.run(sql`SELECT set_config(${name}, ${value}, false)`);

async function tryLock(connection: Connection, pool: string, waitMs: number): Promise<boolean> {
  await setting(connection, 'lock_timeout', `${Math.max(1, Math.round(waitMs))}ms`);
  try {
    await connection.run(sql`SELECT pg_advisory_lock(${poolKey(pool)})`);
    return true;
  } catch (error) {
    if (codeOf(error) === LOCK_NOT_AVAILABLE) return false;
    throw error;
  } finally {
    await connection.run(sql`RESET lock_timeout`).catch(() => undefined);
  }
}

async function unlock(connection: Connection, pool: string): Promise<void> {
  try {
    await connection.run(sql`SELECT pg_advisory_unlock(${poolKey(pool)})`);
    await connection.run(sql`RESET idle_session_timeout`);
    connection.release();
  } catch {
    connection.release(true);
  }
}

function turnOf(connection: Connection, read: ReadPool): OpenTurn {
  const { pool } = read.snapshot;
  let committed: CommittedTurn | null = null;
  let isOpen = true;
  return {
    snapshot: read.snapshot,
    nowMs: read.nowMs,
    commit: async (plan: PoolPlan, sealApiKey) => {
      committed ??= await connection.transaction((tx) => commitTurn(tx, { read, plan, sealApiKey }));
      return committed;
    },
    close: async () => {
      if (!isOpen) return;
      isOpen = false;
      await unlock(connection, pool);
    },
  };
}

/** Null when another planner has the pool for longer than `waitMs`. */
export async function openTurn(
  { db }: StoreContext,
  pool: string,
  waitMs: number,
): Promise<OpenTurn | null | 'missing'> {
  const connection = await db.connect();
  try {
    if (!(await tryLock(connection, pool, waitMs))) {
      connection.release();
      return null;
    }
    await setting(connection, 'idle_session_timeout', HUNG_AFTER);
    await connection.transaction((tx) => closeOrphans(tx, pool));
    const read = await connection.transaction((tx) => readPool(tx, pool), 'snapshot');
    if (read !== null) return turnOf(connection, read);
    await unlock(connection, pool);
    return 'missing';
  } catch (error) {
    connection.release(true);
    throw error;
  }
}
