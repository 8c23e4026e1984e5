import type { OrderKind } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';

export interface GivenOrder {
  readonly instanceId: string;
  readonly kind: Exclude<OrderKind, 'start'>;
  /** Where it does not just stop: it failed, and is only removed. */
  readonly isFailed?: boolean;
  readonly message?: string | null;
}

/**
 * Sleep: from an awake engine without an order; wake: from a sleeper; stop: from anything that does not stop already. Sleep
 * and stop are due at once, and take the route away with this row. Null where the engine is not there for it (any more).
 */
export const giveOrder = (
  tx: Runner,
  { instanceId, kind, isFailed = false, message = null }: GivenOrder,
): Promise<{ readonly claim_id: string } | undefined> => {
  const phase = { sleep: sql`phase`, wake: sql`'WAKING'`, stop: isFailed ? sql`'FAILED'` : sql`'STOPPING'` }[kind];
  const from = {
    sleep: sql`phase = 'ACTIVE' AND order_kind IS NULL`,
    wake: sql`phase = 'SLEEPING' AND order_kind IS NULL`,
    stop: sql`order_kind IS DISTINCT FROM 'stop'`,
  }[kind];
  return tx.first<{ claim_id: string }>(sql`
    UPDATE model_instances SET phase = ${phase}, phase_since = CASE WHEN ${kind === 'sleep'} THEN phase_since ELSE now() END,
      order_kind = ${kind}, order_seq = order_seq + 1, order_at = now(), order_due_at = CASE WHEN ${kind !== 'wake'} THEN now() END,
      order_read_at = NULL, message = coalesce(${message}, message), idle_since = CASE WHEN ${kind === 'sleep'} THEN idle_since ELSE now() END,
      residue_bytes = CASE WHEN ${kind === 'wake'} THEN NULL ELSE residue_bytes END,
      last_residue_bytes = CASE WHEN ${kind === 'wake'} THEN coalesce(residue_bytes, last_residue_bytes) ELSE last_residue_bytes END
    WHERE id = ${instanceId} AND closed_at IS NULL AND ${from} RETURNING claim_id`);
};
