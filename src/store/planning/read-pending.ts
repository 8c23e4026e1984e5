import type { Dependency, SnapshotKernel, SnapshotPending, SnapshotWishes } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';

/** Where a page of the queue ended: the next one starts behind it. */
export interface QueuePlace {
  readonly queueRank: number;
  readonly submittedAt: string;
  readonly id: string;
}
interface PendingRow
  extends Omit<
    SnapshotPending,
    'kernels' | 'wishes' | 'decay' | 'dependsOn' | 'folders' | 'minRuntimeSeconds' | 'maxRuntimeSeconds'
  > {
  readonly queue_rank: number;
  readonly min_runtime_ms: number;
  readonly max_runtime_ms: number | null;
  readonly grace_ms: number;
  readonly decay_tries: number;
  readonly decay_counted_at: string | null;
  readonly blocked_since: string | null;
  readonly given_wishes: Partial<SnapshotWishes>;
  readonly kernels: readonly SnapshotKernel[];
  readonly depends_on: readonly Dependency[] | null;
  readonly folders: readonly string[] | null;
}

const wishesOf = (given: Partial<SnapshotWishes>): SnapshotWishes => ({
  nodes: given.nodes ?? [],
  nodesRequired: given.nodesRequired ?? false,
  zone: given.zone ?? null,
  zoneRequired: given.zoneRequired ?? false,
  spread: given.spread ?? 'none',
  replicaGroup: given.replicaGroup ?? null,
});

function toPending(row: PendingRow): SnapshotPending {
  const { queue_rank: _, min_runtime_ms, max_runtime_ms, grace_ms, given_wishes, depends_on, ...rest } = row;
  const { decay_tries, decay_counted_at, blocked_since, kernels, folders, ...facts } = rest;
  return {
    ...facts,
    minRuntimeSeconds: min_runtime_ms / 1000,
    maxRuntimeSeconds: max_runtime_ms === null ? null : max_runtime_ms / 1000,
    gracePeriodSeconds: grace_ms / 1000,
    decay: { tries: decay_tries, countedAt: decay_counted_at, blockedSince: blocked_since },
    wishes: wishesOf(given_wishes),
    dependsOn: [...(depends_on ?? [])],
    folders: [...(folders ?? [])],
    kernels: [...kernels],
  };
}

const COLUMNS = sql`
  s.id, s.name, s.version, s.user_id AS "userId", s.project_id AS "projectId", s.domain_id AS "domainId", s.priority, s.queue_rank,
  s.submitted_at AS "submittedAt", s.architecture, s.gpu_model AS "gpuModel", s.cluster_mode AS "clusterMode", s.kind, s.attempt,
  s.min_runtime_ms, s.max_runtime_ms, s.grace_ms, s.preemptible, s.starts_at AS "startsAt", s.retry_at AS "retryAt",
  s.avoid_nodes AS avoid, s.image, s.wishes AS given_wishes, s.decay_tries, s.decay_counted_at, s.blocked_since,
  CASE WHEN s.budget_id IS NOT NULL THEN (SELECT l.id FROM open_leaves l WHERE l.id = s.budget_id) END AS "budgetId"`;
const KERNELS = sql`
  SELECT json_agg(json_build_object('id', id, 'role', role, 'rank', rank, 'slots', json_build_object(
    'cpuMilli', cpu_milli, 'memoryBytes', memory_bytes, 'gpuCount', gpu_count, 'gpuMemoryBytes', gpu_memory_bytes))
    ORDER BY rank) AS kernels
  FROM kernels WHERE session_id = s.id`;
/** Only of those that have any: most have none. */
const UPSTREAM = sql`
  CASE WHEN s.has_upstream THEN (
    SELECT json_agg(json_build_object('sessionId', u.id, 'name', u.name, 'onFailure', d.on_failure, 'state',
      CASE WHEN u.ended_at IS NULL THEN 'open' WHEN u.result = 'success' THEN 'succeeded' ELSE 'failed' END) ORDER BY u.id)
    FROM session_dependencies d JOIN sessions u ON u.id = d.upstream_id WHERE d.session_id = s.id) END AS depends_on`;
const FOLDERS = sql`
  CASE WHEN s.has_mounts THEN (
    SELECT json_agg(DISTINCT folder_id ORDER BY folder_id) FROM session_mounts WHERE session_id = s.id) END AS folders`;

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
    SELECT ${COLUMNS}, k.kernels, ${UPSTREAM}, ${FOLDERS}
    FROM (SELECT * FROM sessions WHERE group_name = ${group} AND state = 'PENDING' AND ${behind}
          ORDER BY queue_rank, submitted_at, id LIMIT ${limit}) s
    CROSS JOIN LATERAL (${KERNELS}) k
    ORDER BY s.queue_rank, s.submitted_at, s.id`);
  const last = rows.at(-1);
  return {
    page: rows.map(toPending),
    last: last === undefined ? after : { queueRank: last.queue_rank, submittedAt: last.submittedAt, id: last.id },
  };
}
