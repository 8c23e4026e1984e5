import { advisoryKey, type Runner } from '../database.js';
import { type Sql, sql } from '../sql.js';

/** Of all that changes what is promised of a pool's GPUs: a turn holds it from its snapshot to its commit. */
export const poolKey = (pool: string): Sql => advisoryKey(`pool:${pool}`);

/** Until the end of the transaction. Several pools: in the order of their names. */
export const lockPool = (tx: Runner, pool: string): Promise<number> =>
  tx.run(sql`SELECT pg_advisory_xact_lock(${poolKey(pool)})`);

/** A planner has to look: the next turn divides anew at once. */
export const markChanged = (tx: Runner, pool: string): Promise<number> =>
  tx.run(sql`UPDATE pools SET changes = changes + 1, changed_at = now() WHERE name = ${pool}`);
