import type { SnapshotKernel, SnapshotPending } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';

/** Where a page of the queue ended: the next one starts behind it. */
export interface QueuePlace {
  readonly queueRank: number;
  readonly submittedAt: string;
  readonly id: string;
}
interface PendingRow {
  readonly id: SnapshotPending['id'];
  readonly name: string;
  readonly version: number;
  readonly user_id: string;
  readonly project_id: string;
  readonly domain_id: string;
  readonly priority: number;
  readonly queue_rank: number;
  readonly submitted_at: string;
  readonly architecture: string | null;
  readonly gpu_model: string | null;
  readonly cluster_mode: SnapshotPending['clusterMode'];
  readonly kernels: readonly SnapshotKernel[];
}

const toPending = (row: PendingRow): SnapshotPending => ({
  id: row.id,
  name: row.name,
  version: row.version,
  userId: row.user_id,
  projectId: row.project_id,
  domainId: row.domain_id,
  priority: row.priority,
  submittedAt: row.submitted_at,
  architecture: row.architecture,
  gpuModel: row.gpu_model,
  clusterMode: row.cluster_mode,
  kernels: [...row.kernels],
});

/** Those behind `after` in queue order; reading a page costs the same wherever it is. */
export async function readPending(
  tx: Runner,
  group: string,
  { after, limit }: { readonly after: QueuePlace | null; readonly limit: number },
): Promise<{ readonly page: readonly SnapshotPending[]; readonly last: QueuePlace | null }> {
  const behind =
    after === null
      ? sql`true`
      : sql`(queue_rank, submitted_at, id) > (${after.queueRank}::int, ${after.submittedAt}::timestamptz, ${after.id}::text)`;
  const rows = await tx.rows<PendingRow>(sql`
    SELECT s.id, s.name, s.version, s.user_id, s.project_id, s.domain_id, s.priority, s.queue_rank, s.submitted_at,
      s.architecture, s.gpu_model, s.cluster_mode, k.kernels
    FROM (SELECT * FROM sessions WHERE group_name = ${group} AND state = 'PENDING' AND ${behind}
          ORDER BY queue_rank, submitted_at, id LIMIT ${limit}) s
    CROSS JOIN LATERAL (
      SELECT json_agg(json_build_object('id', id, 'role', role, 'rank', rank, 'slots', json_build_object(
        'cpuMilli', cpu_milli, 'memoryBytes', memory_bytes, 'gpuCount', gpu_count, 'gpuMemoryBytes', gpu_memory_bytes))
        ORDER BY rank) AS kernels
      FROM kernels WHERE session_id = s.id) k
    ORDER BY s.queue_rank, s.submitted_at, s.id`);
  const last = rows.at(-1);
  return {
    page: rows.map(toPending),
    last: last === undefined ? after : { queueRank: last.queue_rank, submittedAt: last.submitted_at, id: last.id },
  };
}
