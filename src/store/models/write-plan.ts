import type { PoolPlan } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';
import { recordModelEvent } from './model-events.js';

/** Of engines that have ids; those that are placed in this plan have theirs from the start. Only what differs is written. */
export async function writeLimits(tx: Runner, { planned }: PoolPlan): Promise<void> {
  const rows = Object.entries(planned).map(([id, bytes]) => ({ id, bytes }));
  await tx.run(sql`
    WITH changed AS (
      UPDATE model_instances i SET planned_bytes = n.bytes
      FROM (SELECT p.id, p.bytes, o.planned_bytes AS was FROM jsonb_to_recordset(${json(rows)}::jsonb) AS p(id text, bytes bigint)
        JOIN model_instances o ON o.id = p.id ORDER BY p.id) n
      WHERE n.id = i.id AND i.closed_at IS NULL AND i.planned_bytes IS DISTINCT FROM n.bytes RETURNING i.id, i.claim_id, n.was, n.bytes)
    INSERT INTO model_events (claim_id, kind, instance_id, from_value, to_value, actor)
    SELECT claim_id, 'limits', id, was::text, bytes::text, 'planner' FROM changed`);
}

export const writeShort = (tx: Runner, pool: string, short: readonly string[]): Promise<number> =>
  tx.run(sql`
    UPDATE model_instances SET short_before = (id = ANY(${short}::text[]))
    WHERE pool = ${pool} AND closed_at IS NULL AND short_before <> (id = ANY(${short}::text[]))`);

/** All that stand after this turn; one that is kept tells nothing again. */
export async function writeHolds(tx: Runner, pool: string, holds: PoolPlan['holds']): Promise<void> {
  const rows = json(holds);
  await tx.run(sql`
    WITH gone AS (
      DELETE FROM model_holds h WHERE h.pool = ${pool} AND NOT EXISTS (
        SELECT 1 FROM jsonb_to_recordset(${rows}::jsonb) AS k("claimId" text, replica int) WHERE k."claimId" = h.claim_id AND k.replica = h.replica)
      RETURNING h.claim_id, h.gpus)
    INSERT INTO model_events (claim_id, kind, from_value, message, actor)
    SELECT claim_id, 'hold', array_to_string(gpus, ', '), 'its room is kept no longer', 'planner' FROM gone`);
  await tx.run(sql`
    WITH kept AS (
      INSERT INTO model_holds AS h (claim_id, replica, pool, gpus, bytes, until, because)
      SELECT k."claimId", k.replica, ${pool}, ARRAY(SELECT jsonb_array_elements_text(k.gpus)), k.bytes, to_timestamp(k."untilMs" / 1000), k.because
      FROM jsonb_to_recordset(${rows}::jsonb) AS k("claimId" text, replica int, gpus jsonb, bytes bigint, "untilMs" float8, because text)
      JOIN model_claims c ON c.id = k."claimId" AND c.ending_at IS NULL
      ON CONFLICT (claim_id, replica) DO UPDATE SET gpus = excluded.gpus, bytes = excluded.bytes, until = excluded.until, because = excluded.because
        WHERE (h.gpus, h.bytes, h.until) IS DISTINCT FROM (excluded.gpus, excluded.bytes, excluded.until)
      RETURNING claim_id, gpus, because, bytes)
    INSERT INTO model_events (claim_id, kind, to_value, message, data, actor)
    SELECT claim_id, 'hold', array_to_string(gpus, ', '), because, jsonb_build_object('bytes', bytes), 'planner' FROM kept`);
}

/** Nobody waits for these wakes any more. */
export async function callOff(tx: Runner, { calledOff }: PoolPlan): Promise<void> {
  for (const { claimId, because } of calledOff) {
    const off = await tx.run(
      sql`UPDATE model_claims SET wake_asked_at = NULL WHERE id = ${claimId} AND wake_asked_at IS NOT NULL`,
    );
    if (off === 1)
      await recordModelEvent(tx, { claimId, kind: 'wake', reason: 'called-off', message: because, actor: 'planner' });
  }
}

/** Written where any word differs, told where the code does: figures in a message change often. */
export async function writeReasons(tx: Runner, { reasons }: PoolPlan): Promise<void> {
  const rows = reasons.map(({ claimId, reason }) => ({
    id: claimId,
    code: reason?.code ?? null,
    message: reason?.message ?? '',
    data: reason?.data ?? {},
  }));
  await tx.run(sql`
    WITH changed AS (
      UPDATE model_claims c SET reason = n.code, reason_message = n.message, reason_data = n.data
      FROM (SELECT r.*, o.reason AS was FROM jsonb_to_recordset(${json(rows)}::jsonb) AS r(id text, code text, message text, data jsonb)
        JOIN model_claims o ON o.id = r.id ORDER BY r.id) n
      WHERE n.id = c.id AND c.ending_at IS NULL AND (c.reason, c.reason_message, c.reason_data) IS DISTINCT FROM (n.code, n.message, n.data)
      RETURNING c.id, n.was, n.code, n.message, n.data)
    INSERT INTO model_events (claim_id, kind, from_value, to_value, reason, message, data, actor)
    SELECT id, 'room', was, code, code, message, data, 'planner' FROM changed WHERE was IS DISTINCT FROM code`);
}
