import type { SnapshotRoom, SnapshotRunning } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';

interface RunningRow
  extends Omit<SnapshotRunning, 'kernels' | 'minRuntimeSeconds' | 'maxRuntimeSeconds' | 'gracePeriodSeconds'> {
  readonly min_runtime_ms: number;
  readonly max_runtime_ms: number | null;
  readonly grace_ms: number;
  readonly kernels: readonly SnapshotRoom[];
}

function toRunning({ min_runtime_ms, max_runtime_ms, grace_ms, kernels, ...row }: RunningRow): SnapshotRunning {
  return {
    ...row,
    minRuntimeSeconds: min_runtime_ms / 1000,
    maxRuntimeSeconds: max_runtime_ms === null ? null : max_runtime_ms / 1000,
    gracePeriodSeconds: grace_ms / 1000,
    kernels: [...kernels],
  };
}

const GRACE = sql`CASE WHEN s.stop_force THEN 0 ELSE coalesce(s.stop_grace_ms, s.grace_ms) END * interval '1 ms'`;
/** A preemption says it; a stop or an end that came otherwise leaves within the grace. */
const GONE_BY = sql`
  CASE WHEN s.state = 'TERMINATING' OR s.stop_requested_at IS NOT NULL
    THEN least(s.gone_by, coalesce(s.ending_at, s.stop_requested_at) + ${GRACE}) ELSE s.gone_by END`;

/** Everybody who holds room of the group, by id: from the placement until the release. */
export async function readRunning(tx: Runner, group: string): Promise<readonly SnapshotRunning[]> {
  const rows = await tx.rows<RunningRow>(sql`
    WITH held AS MATERIALIZED (
      SELECT h.reservation_id, json_agg(h.device_id ORDER BY h.device_id) AS devices, sum(h.memory_bytes)::bigint AS shared
      FROM device_holds h WHERE NOT h.folded GROUP BY h.reservation_id),
    rooms AS MATERIALIZED (
      SELECT r.session_id, r.attempt, json_agg(json_build_object('kernelId', r.kernel_id, 'node', r.node, 'deviceIds', coalesce(d.devices, '[]'),
        'slots', json_build_object('cpuMilli', r.cpu_milli, 'memoryBytes', r.memory_bytes, 'gpuCount', r.gpu_count,
          'gpuMemoryBytes', coalesce(d.shared, r.gpu_memory_bytes))) ORDER BY r.kernel_id) AS kernels
      FROM reservations r LEFT JOIN held d ON d.reservation_id = r.id WHERE r.released_at IS NULL GROUP BY r.session_id, r.attempt)
    SELECT s.id, s.name, s.version, s.attempt, s.user_id AS "userId", s.project_id AS "projectId", s.domain_id AS "domainId", s.kind,
      s.priority, s.submitted_at AS "submittedAt", s.placed_at AS "placedAt", s.started_at AS "startedAt", s.min_runtime_ms,
      s.max_runtime_ms, s.grace_ms, s.preemptible, s.wishes->>'replicaGroup' AS "replicaGroup", ${GONE_BY} AS "goneBy", r.kernels
    FROM sessions s JOIN rooms r ON r.session_id = s.id AND r.attempt = s.attempt
    WHERE s.group_name = ${group} AND s.state IN ('SCHEDULED', 'PREPARING', 'CREATING', 'RUNNING', 'PREEMPTING', 'TERMINATING')
    ORDER BY s.id`);
  return rows.map(toRunning);
}
