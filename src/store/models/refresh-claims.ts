import type { Runner } from '../database.js';
import { sql } from '../sql.js';

/** The phase of a claim is that of its engines: the best of them, or what became of it without one. */
const PHASE = sql`
  CASE WHEN c.ending_at IS NOT NULL THEN 'STOPPING'
    WHEN e.phases @> '{ACTIVE}' THEN 'ACTIVE'
    WHEN e.moves THEN 'MOVING'
    WHEN e.phases @> '{WAKING}' THEN 'WAKING'
    WHEN e.phases @> '{STARTING}' THEN 'STARTING'
    WHEN e.phases @> '{SLEEPING}' THEN 'SLEEPING'
    WHEN c.failed_for_good IS NOT NULL OR c.reason = 'EngineFailed' THEN 'FAILED'
    ELSE 'PENDING' END`;

/** Claims that end and have no engine left are over. */
async function endEmpty(tx: Runner, pool: string): Promise<void> {
  await tx.run(sql`
    WITH over AS (
      UPDATE model_claims c SET ended_at = now(), wake_asked_at = NULL
      WHERE c.pool = ${pool} AND c.ending_at IS NOT NULL AND c.ended_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM model_instances i WHERE i.claim_id = c.id AND i.closed_at IS NULL)
      RETURNING c.id),
    freed AS (DELETE FROM model_holds h USING over WHERE h.claim_id = over.id)
    INSERT INTO model_events (claim_id, kind, message, actor) SELECT id, 'ended', 'its last engine is gone', 'berth' FROM over`);
}

/**
 * A request is met where one serves and none sleeps: also when it serves elsewhere since (it was moved), or when the sleep that it
 * came in was not done. One that stood for ever would keep its model from ever sleeping, and its neighbours from waking.
 */
const forgetMetWakes = (tx: Runner, pool: string): Promise<number> =>
  tx.run(sql`
    UPDATE model_claims c SET wake_asked_at = NULL WHERE c.pool = ${pool} AND c.wake_asked_at IS NOT NULL
      AND EXISTS (SELECT 1 FROM model_instances i WHERE i.claim_id = c.id AND i.closed_at IS NULL AND i.phase = 'ACTIVE')
      AND NOT EXISTS (SELECT 1 FROM model_instances i WHERE i.claim_id = c.id AND i.closed_at IS NULL
        AND (i.phase IN ('SLEEPING', 'WAKING') OR i.order_kind = 'sleep'))`);

/** After each change of engines: the phases of the pool's claims with their events, and those that are over. A second run writes nothing. */
export async function refreshClaims(tx: Runner, pool: string): Promise<void> {
  await tx.run(sql`
    WITH moved AS (
      UPDATE model_claims c SET phase = n.phase, phase_since = now()
      FROM (
        SELECT c.id, c.phase AS was, ${PHASE} AS phase FROM model_claims c CROSS JOIN LATERAL (
          SELECT coalesce(array_agg(i.phase), '{}') AS phases, coalesce(bool_or(i.moves_from IS NOT NULL), false) AS moves
          FROM model_instances i WHERE i.claim_id = c.id AND i.closed_at IS NULL AND i.phase NOT IN ('STOPPING', 'FAILED')) e
        WHERE c.pool = ${pool} AND c.ended_at IS NULL) n
      WHERE n.id = c.id AND n.phase <> c.phase RETURNING c.id, n.was, c.phase, c.reason, c.reason_message)
    INSERT INTO model_events (claim_id, kind, from_value, to_value, reason, message, actor)
    SELECT id, 'phase', was, phase, reason, CASE WHEN phase = 'ACTIVE' THEN '' ELSE reason_message END, 'berth' FROM moved`);
  await forgetMetWakes(tx, pool);
  await endEmpty(tx, pool);
}
