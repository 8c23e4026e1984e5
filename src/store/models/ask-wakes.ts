import type { Runner } from '../database.js';
import type { ModelStore } from '../model-store.js';
import { json, sql } from '../sql.js';
import { lockPool, markChanged } from './pool-lock.js';
import { isRouted } from './sql-words.js';

type Asks = Parameters<ModelStore['askWakes']>[0];

const readAsks = (asks: Asks) => sql`
  (SELECT id, least(now(), to_timestamp(max(ms) / 1000)) AS at
    FROM jsonb_to_recordset(${json(asks.map((ask) => ({ id: ask.claimId, ms: ask.lastRequestMs })))}::jsonb) AS a(id text, ms float8) GROUP BY id)`;

/** Asleep or about to be, with no engine that serves; not asked before. Of `c`, a row of model_claims. */
const sleeps = sql`
  c.wake_asked_at IS NULL AND c.ending_at IS NULL AND EXISTS (SELECT 1 FROM model_engines e WHERE e.claim_id = c.id
    AND (e.phase = 'SLEEPING' OR e.order_kind = 'sleep'))
  AND NOT EXISTS (SELECT 1 FROM model_engines e WHERE e.claim_id = c.id AND ${isRouted})`;

/**
 * The last requests are noted. The first for one that sleeps stands from now on: its whole reserve is charged before its
 * engine is touched. Answers the pools where something was newly asked.
 */
export async function askWakes(tx: Runner, asks: Asks): Promise<readonly string[]> {
  const pools = await tx.rows<{ pool: string }>(sql`
    SELECT DISTINCT c.pool FROM model_claims c JOIN ${readAsks(asks)} a ON a.id = c.id WHERE c.ended_at IS NULL AND ${sleeps} ORDER BY 1`);
  for (const { pool } of pools) await lockPool(tx, pool);
  const asked = await tx.rows<{ pool: string }>(sql`
    WITH asked AS (
      UPDATE model_claims c SET wake_asked_at = now(), sleep_asked = false FROM ${readAsks(asks)} a
      WHERE a.id = c.id AND c.pool = ANY(${pools.map((row) => row.pool)}::text[]) AND c.ended_at IS NULL AND ${sleeps} RETURNING c.id, c.pool),
    told AS (INSERT INTO model_events (claim_id, kind, message, actor) SELECT id, 'wake', 'asked for by a request', 'gateway' FROM asked)
    SELECT DISTINCT pool FROM asked ORDER BY 1`);
  await tx.run(sql`
    UPDATE model_claims c SET last_request_at = a.at FROM (SELECT * FROM ${readAsks(asks)} b ORDER BY id) a
    WHERE a.id = c.id AND c.ended_at IS NULL AND (c.last_request_at IS NULL OR c.last_request_at < a.at)`);
  for (const { pool } of asked) await markChanged(tx, pool);
  return asked.map((row) => row.pool);
}
