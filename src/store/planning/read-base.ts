import type { GroupPolicy, Snapshot, SnapshotGuarantee, SnapshotHold } from '../../contract/index.js';
import { readForGroup } from '../budgets/for-group.js';
import type { Runner } from '../database.js';
import { type NodeCache, readSnapshotNodes } from '../nodes/read-snapshot-nodes.js';
import { readAllQuotas } from '../settings/held.js';
import { policyOf } from '../settings/policy.js';
import { json, sql } from '../sql.js';
import type { PassFlags } from '../store.js';
import { readFlags, runningMatters } from './read-flags.js';
import { readRunning } from './read-running.js';

/** With the project's id, '' where it is for the deployments of all; a project that is gone is guaranteed nothing. */
async function readGuarantees(tx: Runner, { guarantees }: GroupPolicy): Promise<SnapshotGuarantee[]> {
  if (guarantees.length === 0) return [];
  const rows = await tx.rows<SnapshotGuarantee & { readonly kind: 'inference' | null }>(sql`
    SELECT coalesce(p.id, '') AS "projectId", coalesce(g.project, '') AS project, g.kind, g."gpuCount", g."returnSeconds"
    FROM jsonb_to_recordset(${json(guarantees)}::jsonb) AS g(project text, kind text, "gpuCount" int, "returnSeconds" int)
    LEFT JOIN domains d ON d.name = split_part(g.project, '/', 1)
    LEFT JOIN projects p ON p.domain_id = d.id AND p.name = split_part(g.project, '/', 2)
    WHERE g.project IS NULL OR p.id IS NOT NULL ORDER BY p.id NULLS FIRST, g.kind NULLS FIRST`);
  return rows.map(({ kind, ...guarantee }) => (kind === null ? guarantee : { ...guarantee, kind }));
}

/** Of those who still wait: a hold whose session was cancelled keeps nothing any more. */
const readHolds = (tx: Runner, group: string): Promise<SnapshotHold[]> =>
  tx.rows<SnapshotHold>(sql`
    SELECT h.session_id AS "sessionId", h.created_at AS since, h.victims, h.kernels,
      json_build_object('kind', s.kind, 'projectId', s.project_id, 'preemptible', s.preemptible,
        'minRuntimeSeconds', s.min_runtime_ms / 1000.0, 'gracePeriodSeconds', s.grace_ms / 1000.0) AS waiter
    FROM room_holds h JOIN sessions s ON s.id = h.session_id
    WHERE h.group_name = ${group} AND s.state = 'PENDING' ORDER BY h.session_id`);

interface GroupRow {
  readonly name: string;
  readonly generation: number;
  readonly policy: unknown;
  readonly taken_at: string;
}
export interface Base {
  readonly base: Omit<Snapshot, 'pending'>;
  readonly flags: PassFlags;
}

/**
 * All of a snapshot but those who wait; `running` where it matters, or always. `tx` must be one consistent view.
 */
export async function readBase(
  tx: Runner,
  group: string,
  { cache, running }: { readonly cache: NodeCache; readonly running: 'always' | 'where it matters' },
): Promise<Base | null> {
  const row = await tx.first<GroupRow>(
    sql`SELECT name, generation, policy, now()::timestamptz(3) AS taken_at FROM resource_groups WHERE name = ${group}`,
  );
  if (row === undefined) return null;
  const policy = policyOf(row.policy);
  const flags = await readFlags(tx, group);
  const isRead = running === 'always' || runningMatters(policy, flags);
  const base: Base['base'] = {
    schema: 'berth.snapshot/1',
    takenAt: row.taken_at,
    group: { name: row.name, generation: row.generation, policy },
    nodes: [...(await readSnapshotNodes(tx, group, { cache, withFolders: flags.hasMounts }))],
    quotas: [...(await readAllQuotas(tx))],
    guarantees: await readGuarantees(tx, policy),
    budgets: policy.order === 'fair-share' ? await readForGroup(tx, group, row.taken_at) : null,
    running: isRead ? [...(await readRunning(tx, group))] : [],
    holds: flags.hasHolds ? await readHolds(tx, group) : [],
  };
  return { base, flags };
}
