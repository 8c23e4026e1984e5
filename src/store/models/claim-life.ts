import type { Runner } from '../database.js';
import type { ClaimLife, DueOrder } from '../model-store.js';
import { sql } from '../sql.js';
import { isRouted } from './sql-words.js';

interface ClaimRow {
  readonly model_name: string;
  readonly pool: string;
  readonly phase: string;
  readonly reason: string | null;
  readonly reason_message: string;
  readonly ended: boolean;
}
interface EngineRow {
  readonly id: string;
  readonly gpus: readonly string[];
  readonly phase: string;
  readonly order_kind: string | null;
  readonly routable: boolean;
}

async function details(tx: Runner, claimId: string, row: ClaimRow): Promise<string> {
  const engines = await tx.rows<EngineRow>(sql`
    SELECT e.id, to_json(e.gpus) AS gpus, e.phase, e.order_kind, ${isRouted} AS routable FROM model_engines e WHERE e.claim_id = ${claimId} ORDER BY e.id`);
  const why = row.reason === null ? '' : `: ${row.reason}, ${row.reason_message}`;
  const lines = engines.map(({ id, gpus, phase, order_kind, routable }) => {
    const order = order_kind === null ? '' : `, to ${order_kind}`;
    return `- ${id} on ${gpus.join(', ')}: ${phase}${order}${routable ? ', on the route' : ''}`;
  });
  return [`**${row.model_name}** in ${row.pool}: ${row.phase}${why}`, ...lines].join('\n');
}

/** The orders that are due are given with this; they are given again until they are settled. */
export async function claimLife(tx: Runner, claimId: string): Promise<ClaimLife> {
  const row = await tx.first<ClaimRow>(sql`
    SELECT model_name, pool, phase, reason, reason_message, ended_at IS NOT NULL AS ended FROM model_claims WHERE id = ${claimId}`);
  if (row === undefined) return { outcome: 'missing', modelName: '', pool: '', orders: [], details: '' };
  const { model_name: modelName, pool } = row;
  if (row.ended) return { outcome: 'ended', modelName, pool, orders: [], details: `**${modelName}** has ended` };
  const orders = await tx.rows<DueOrder>(sql`
    SELECT e.id AS "instanceId", e.order_kind AS kind, e.order_seq AS seq, e.node, e.session_id AS "memberSessionId",
      e.planned_bytes AS "plannedBytes"
    FROM model_engines e WHERE e.claim_id = ${claimId} AND e.order_kind IS NOT NULL AND e.order_due_at IS NOT NULL ORDER BY e.id`);
  await tx.run(sql`
    UPDATE model_instances i SET order_read_at = now() FROM (
      SELECT * FROM jsonb_to_recordset(${JSON.stringify(orders)}::jsonb) AS o("instanceId" text, seq int) ORDER BY 1) AS o(id, seq)
    WHERE i.id = o.id AND i.order_seq = o.seq AND i.order_read_at IS NULL`);
  return { outcome: 'lives', modelName, pool, orders, details: await details(tx, claimId, row) };
}
