import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';
import { giveOrder } from './give-order.js';
import { recordModelEvent } from './model-events.js';
import { isRouted } from './sql-words.js';

/** So long a claim is not placed where its engine failed. */
const AVOID_MS = 10 * 60_000;

export interface Failure {
  readonly instanceId: string;
  readonly claimId: string;
  readonly kind: string;
  readonly message: string;
  /** Another GPU would not help. */
  readonly isForGood: boolean;
  /** Where it failed is left out for a while. */
  readonly avoids: boolean;
}

const avoid = (tx: Runner, { claimId, instanceId }: Failure): Promise<number> =>
  tx.run(sql`
    UPDATE model_claims c SET avoid = (
      SELECT coalesce(jsonb_agg(a), '[]') FROM jsonb_array_elements(c.avoid) a
        WHERE (a->>'untilMs')::float8 > extract(epoch FROM now()) * 1000
          AND NOT EXISTS (SELECT 1 FROM instance_gpus g WHERE g.instance_id = ${instanceId} AND g.name = a->>'gpu'))
      || (SELECT jsonb_agg(jsonb_build_object('gpu', g.name, 'untilMs', floor(extract(epoch FROM now()) * 1000) + ${AVOID_MS}::int))
        FROM instance_gpus g WHERE g.instance_id = ${instanceId})
    WHERE c.id = ${claimId}`);

/**
 * It serves no more, and stays charged until it is known to be gone: its stop is ordered here. Its claim is placed anew
 * meanwhile, elsewhere where it can be.
 */
export async function failEngine(tx: Runner, failure: Failure): Promise<void> {
  const { instanceId, claimId, kind, message, isForGood, avoids } = failure;
  await giveOrder(tx, { instanceId, kind: 'stop', isFailed: true, message });
  if (avoids) await avoid(tx, failure);
  await tx.run(sql`
    UPDATE model_claims SET failed_for_good = CASE WHEN ${isForGood} THEN ${message}::text ELSE failed_for_good END,
      reason = 'EngineFailed', reason_message = ${message}, reason_data = ${json({ engine: instanceId })}::jsonb
    WHERE id = ${claimId} AND ending_at IS NULL AND NOT EXISTS (SELECT 1 FROM model_engines e WHERE e.claim_id = ${claimId} AND ${isRouted})`);
  await recordModelEvent(tx, { claimId, instanceId, kind, reason: 'EngineFailed', message, actor: 'node' });
}
