import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import { markChanged } from './pool-lock.js';
import { refreshClaims } from './refresh-claims.js';

/** Engines go with the session of their member: whatever ended it, nothing of them is left where it ran. */
const closeEngines = (tx: Runner, pool: string): Promise<number> =>
  tx.run(sql`
    WITH gone AS (
      UPDATE model_instances i SET closed_at = now(), close_reason = 'its member ended', order_kind = NULL, order_due_at = NULL
      WHERE i.pool = ${pool} AND i.closed_at IS NULL AND NOT EXISTS (SELECT 1 FROM model_engines e WHERE e.id = i.id)
      RETURNING i.id, i.claim_id, i.phase, i.node)
    INSERT INTO model_events (claim_id, kind, instance_id, from_value, message, actor)
    SELECT claim_id, 'ended', id, phase, 'its member on ' || node || ' ended', 'berth' FROM gone`);

const closeMembers = (tx: Runner, pool: string): Promise<number> =>
  tx.run(sql`
    UPDATE pool_members m SET closed_at = now(), close_reason = CASE WHEN v.refusal IS NOT NULL THEN v.refusal->>'detail' ELSE v.session_message END
    FROM model_members v WHERE v.session_id = m.session_id AND m.pool = ${pool} AND m.closed_at IS NULL
      AND (v.session_ended_at IS NOT NULL OR (v.refusal IS NOT NULL AND v.session_state IS NULL))`);

/** What rests on sessions that no longer run is closed, once. Under the pool's lock, before anything is read for a decision. */
export async function closeOrphans(tx: Runner, pool: string): Promise<void> {
  const engines = await closeEngines(tx, pool);
  await tx.run(sql`
    UPDATE model_instances i SET moves_from = NULL FROM model_instances old
    WHERE i.pool = ${pool} AND i.closed_at IS NULL AND old.id = i.moves_from AND old.closed_at IS NOT NULL`);
  const members = await closeMembers(tx, pool);
  await tx.run(sql`
    UPDATE pool_members m SET ready_at = now() FROM model_members v
    WHERE v.session_id = m.session_id AND m.pool = ${pool} AND m.ready_at IS NULL AND v.session_state = 'RUNNING'`);
  if (engines + members === 0) return;
  await markChanged(tx, pool);
  await refreshClaims(tx, pool);
}
