import type { GroupPolicy, Snapshot } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { type NodeCache, readSnapshotNodes } from '../nodes/read-snapshot-nodes.js';
import { readAllQuotas } from '../settings/held.js';
import { sql } from '../sql.js';

/** All of a snapshot but those who wait. `tx` must be one consistent view. */
export async function readBase(tx: Runner, group: string, cache: NodeCache): Promise<Omit<Snapshot, 'pending'> | null> {
  const row = await tx.first<{ name: string; generation: number; policy: GroupPolicy; taken_at: string }>(
    sql`SELECT name, generation, policy, now() AS taken_at FROM resource_groups WHERE name = ${group}`,
  );
  if (row === undefined) return null;
  return {
    schema: 'berth.snapshot/1',
    takenAt: row.taken_at,
    group: { name: row.name, generation: row.generation, policy: row.policy },
    nodes: [...(await readSnapshotNodes(tx, group, cache))],
    quotas: [...(await readAllQuotas(tx))],
    guarantees: [],
    running: [],
    holds: [],
  };
}
