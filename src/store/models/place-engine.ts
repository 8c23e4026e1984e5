import { type PoolPlan, segmentName } from '../../contract/index.js';
import { newInstanceId } from '../../platform/ids.js';
import type { Runner } from '../database.js';
import { newInstanceKey } from '../model-store.js';
import { sql } from '../sql.js';
import { recordModelEvent } from './model-events.js';

interface Placing {
  readonly pool: string;
  readonly plan: PoolPlan;
  readonly place: PoolPlan['places'][number];
  readonly sealApiKey: (instanceId: string) => Buffer;
}

/** On GPUs that its member holds now; a GPU that it does not hold ends the transaction. */
async function takeGpus(tx: Runner, id: string, { pool, place }: Placing): Promise<void> {
  const taken = await tx.run(sql`
    INSERT INTO instance_gpus (instance_id, node, device_id, name)
    SELECT ${id}, g.node, g.device_id, g.name FROM member_gpus g
    WHERE g.pool = ${pool} AND g.session_id = ${place.member} AND g.name = ANY(${place.gpus}::text[])`);
  if (taken !== place.gpus.length) throw new Error(`the member ${place.member} does not hold ${place.gpus.join(', ')}`);
}

/**
 * Charged from here on, before any engine exists: its start is ordered, and due once its limit is in force. Left out where
 * the claim ends, the member no longer takes engines, or the replica has one.
 */
export async function placeEngine(tx: Runner, placing: Placing): Promise<void> {
  const { plan, place, sealApiKey } = placing;
  const id = newInstanceId();
  const planned = plan.planned[newInstanceKey(place)] ?? null;
  const placed = await tx.first<{ model_name: string }>(sql`
    INSERT INTO model_instances AS i (id, claim_id, replica, pool, session_id, attempt, node, ipc_name, sealed_api_key, moves_from, phase,
      order_kind, order_seq, order_at, planned_bytes, running, waiting, idle_since, last_residue_bytes)
    SELECT ${id}, c.id, ${place.replica}, c.pool, m.session_id, m.attempt, m.node, ${segmentName(id)}, ${sealApiKey(id)}::bytea, old.id, 'STARTING',
      'start', 1, now(), ${planned}::bigint, 0, 0, now(), old.last_residue_bytes
    FROM model_claims c JOIN model_members m ON m.pool = c.pool AND m.session_id = ${place.member} AND m.state = 'READY'
    LEFT JOIN model_engines old ON old.id = ${place.movesFrom}
    WHERE c.id = ${place.claimId} AND c.ending_at IS NULL AND (${place.movesFrom}::text IS NULL OR old.id IS NOT NULL)
    ON CONFLICT (claim_id, replica, (moves_from IS NULL)) WHERE closed_at IS NULL AND phase NOT IN ('STOPPING', 'FAILED') DO NOTHING
    RETURNING (SELECT model_name FROM model_claims WHERE id = i.claim_id) AS model_name`);
  if (placed === undefined) return;
  await takeGpus(tx, id, placing);
  const { claimId, gpus, because, movesFrom } = place;
  const event = { claimId, instanceId: id, to: gpus.join(', '), message: because, actor: 'planner' };
  await recordModelEvent(tx, {
    ...event,
    kind: movesFrom === null ? 'placed' : 'moved',
    from: movesFrom,
    data: { planned },
  });
}
