import type { LimitResult } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';
import { closeOrphans } from './close-orphans.js';
import { makeDue, unreadClaims } from './due-orders.js';
import { lockPool, markChanged } from './pool-lock.js';

export interface RecordedLimits {
  readonly claims: readonly string[];
  readonly again: boolean;
}

/** A hole of its GPUs until its next look. */
async function unreachable(tx: Runner, pool: string, memberSessionId: string): Promise<void> {
  const marked = await tx.run(sql`
    UPDATE pool_members SET unreachable_at = now() WHERE session_id = ${memberSessionId} AND closed_at IS NULL AND unreachable_at IS NULL`);
  if (marked === 1) await markChanged(tx, pool);
}

/** `again`: a limit is not in force as asked, or is below what is in use. */
async function record(tx: Runner, memberSessionId: string, results: readonly LimitResult[]): Promise<boolean> {
  const rows = await tx.rows<{ holds: boolean }>(sql`
    UPDATE model_instances i SET limit_bytes = n.limit_bytes, limit_at = now(), kv_used_bytes = coalesce(n.kv_used_bytes, i.kv_used_bytes)
    FROM (SELECT * FROM jsonb_to_recordset(${json(results)}::jsonb) AS r("instanceId" text, "limitBytes" bigint, "kvUsedBytes" bigint)
      ORDER BY 1) AS n(id, limit_bytes, kv_used_bytes)
    WHERE i.id = n.id AND i.session_id = ${memberSessionId} AND i.closed_at IS NULL
    RETURNING coalesce(i.limit_bytes = i.planned_bytes AND i.kv_used_bytes <= i.limit_bytes, false) AS holds`);
  return rows.some((row) => !row.holds);
}

/** Read back and written down, with the orders that waited for it. A second run writes the same. */
export async function recordLimits(
  tx: Runner,
  pool: string,
  {
    memberSessionId,
    results,
  }: { readonly memberSessionId: string; readonly results: readonly LimitResult[] | 'unreachable' },
): Promise<RecordedLimits> {
  await lockPool(tx, pool);
  await closeOrphans(tx, pool);
  if (results === 'unreachable') {
    await unreachable(tx, pool, memberSessionId);
    return { claims: await unreadClaims(tx, pool), again: false };
  }
  const again = await record(tx, memberSessionId, results);
  await makeDue(tx, pool);
  return { claims: await unreadClaims(tx, pool), again };
}
