import type { GroupPolicy } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import type { PassFlags } from '../store.js';

/** Each of them is one look at an index that holds only what is waiting or open. */
export async function readFlags(tx: Runner, group: string): Promise<PassFlags> {
  const waiting = sql`s.group_name = ${group} AND s.state = 'PENDING'`;
  const row = await tx.first<PassFlags>(sql`
    SELECT EXISTS (SELECT 1 FROM room_holds h JOIN sessions s ON s.id = h.session_id WHERE h.group_name = ${group} AND s.state = 'PENDING')
        AS "hasHolds",
      EXISTS (SELECT 1 FROM nodes n WHERE n.group_name = ${group} AND n.removed_at IS NULL AND (n.drain_since IS NOT NULL
        OR n.unhealthy_reason IS NOT NULL OR EXISTS (SELECT 1 FROM node_moves m WHERE m.node = n.name))) AS "hasDrains",
      EXISTS (SELECT 1 FROM sessions s JOIN session_dependencies d ON d.session_id = s.id JOIN sessions u ON u.id = d.upstream_id
        WHERE ${waiting} AND s.has_upstream AND d.on_failure <> 'ignore' AND u.ended_at IS NOT NULL AND u.result <> 'success')
        AS "hasFailedDependencies",
      EXISTS (SELECT 1 FROM sessions s WHERE ${waiting} AND s.has_replicas) AS "hasReplicaGroups",
      EXISTS (SELECT 1 FROM sessions s WHERE ${waiting} AND s.has_mounts) AS "hasMounts"`);
  if (row === undefined) throw new Error('Postgres answered nothing');
  return row;
}

/** Whether a pass can decide anything from those who hold room: a superset of what the scheduler asks for. */
export const runningMatters = (policy: GroupPolicy, flags: PassFlags): boolean =>
  policy.order === 'fair-share' ||
  policy.backfill !== 'none' ||
  policy.preemption.enabled ||
  policy.guarantees.length > 0 ||
  flags.hasHolds ||
  flags.hasDrains ||
  flags.hasReplicaGroups;
