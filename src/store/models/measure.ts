import type { InstancePhase, MemberLook } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { ModelStore } from '../model-store.js';
import { sql } from '../sql.js';

type Measured = Awaited<ReturnType<ModelStore['measured']>>;
interface Engine {
  readonly claim_id: string;
  readonly phase: InstancePhase;
  readonly devices: readonly string[];
}

/** The most that was seen while it served, or slept; of the GPU of which it takes the most. */
export async function measure(
  tx: Runner,
  { claim_id, phase, devices }: Engine,
  look: MemberLook['engines'][number],
): Promise<void> {
  const isAwake = phase === 'ACTIVE' && look.state === 'ready';
  const isAsleep = phase === 'SLEEPING' && look.state === 'sleeping';
  if (!isAwake && !isAsleep) return;
  const amounts = devices.flatMap((device) => look.memoryBytes?.[device] ?? []);
  const taken = amounts.length === 0 ? null : Math.max(...amounts);
  const kvUsed = isAwake ? look.kvUsedBytes : null;
  const footprint = !isAwake || taken === null || kvUsed === null ? null : Math.max(0, taken - kvUsed);
  await tx.run(sql`
    INSERT INTO model_measured AS m (claim_id, footprint_bytes, kv_used_bytes, residue_bytes, looks)
    VALUES (${claim_id}, ${footprint}::bigint, ${kvUsed}::bigint, ${isAsleep ? taken : null}::bigint, 1)
    ON CONFLICT (claim_id) DO UPDATE SET footprint_bytes = greatest(m.footprint_bytes, excluded.footprint_bytes),
      kv_used_bytes = greatest(m.kv_used_bytes, excluded.kv_used_bytes), residue_bytes = greatest(m.residue_bytes, excluded.residue_bytes),
      looks = m.looks + 1`);
}

export const readMeasured = async (tx: Runner, claimId: string): Promise<Measured> =>
  (await tx.first<Measured>(sql`
    SELECT footprint_bytes AS "footprintBytes", kv_used_bytes AS "kvUsedBytes", residue_bytes AS "residueBytes", looks
    FROM model_measured WHERE claim_id = ${claimId}`)) ?? {
    footprintBytes: null,
    kvUsedBytes: null,
    residueBytes: null,
    looks: 0,
  };
