import type { CreateSession, Session } from '../../contract/index.js';
import { type Sql, sql } from '../sql.js';
import { preemptibleOf } from './request-fields.js';

export interface SessionRow extends Omit<Session, keyof ReturnType<typeof requestedFields> | 'slots' | 'ports'> {
  readonly spec: CreateSession;
  readonly cpu_milli: number;
  readonly memory_bytes: number;
  readonly gpu_count: number;
  readonly gpu_memory_bytes: number;
  readonly host_ports: readonly { readonly name: string; readonly hostPort: number; readonly node: string }[];
}

const KERNELS = sql`
  SELECT coalesce(json_agg(json_build_object('id', k.id, 'role', k.role, 'rank', k.rank, 'slots', json_build_object(
      'cpuMilli', k.cpu_milli, 'memoryBytes', k.memory_bytes, 'gpuCount', k.gpu_count, 'gpuMemoryBytes', k.gpu_memory_bytes),
    'node', r.node, 'devices', devices.list, 'hostname', k.hostname, 'exitCode', k.exit_code, 'exitReason', k.exit_reason,
    'logTail', k.log_tail) ORDER BY k.rank), '[]') AS kernels
  FROM kernels k LEFT JOIN reservations r ON r.kernel_id = k.id AND r.attempt = s.attempt
  CROSS JOIN LATERAL (
    SELECT coalesce(json_agg(json_build_object('id', d.id, 'model', d.model, 'simulated', d.simulated) ORDER BY d.device_index), '[]') AS list
    FROM device_holds h JOIN devices d ON d.node = h.node AND d.id = h.device_id
    WHERE h.kernel_id = k.id AND h.attempt = s.attempt) devices
  WHERE k.session_id = s.id`;
const MOUNTS = sql`
  SELECT coalesce(json_agg(json_build_object('folder', folder_name, 'folderId', folder_id, 'target', target, 'readOnly', read_only)
    ORDER BY target), '[]') AS mounts FROM session_mounts WHERE session_id = s.id`;
const PORTS = sql`
  SELECT coalesce(json_agg(json_build_object('name', o.name, 'hostPort', o.host_port, 'node', r.node)), '[]') AS host_ports
  FROM kernel_ports o JOIN kernels k ON k.id = o.kernel_id
  JOIN reservations r ON r.kernel_id = k.id AND r.attempt = o.attempt
  WHERE k.session_id = s.id AND o.attempt = s.attempt AND r.released_at IS NULL`;

/** `page` picks and orders rows of `sessions s`, so that kernels are gathered for those alone. */
export const sessionsOf = (page: Sql): Sql => sql`
  SELECT s.id, s.name, s.kind, s.state, s.health, s.attempt, u.name AS user, s.user_id AS "userId", p.name AS project,
    s.project_id AS "projectId", d.name AS domain, s.group_name AS "group", s.cluster_mode AS "clusterMode", s.priority, s.spec,
    s.cpu_milli, s.memory_bytes, s.gpu_count, s.gpu_memory_bytes, s.labels, s.reason, s.message, s.result, s.cause,
    s.exit_code AS "exitCode", s.submitted_at AS "submittedAt", s.placed_at AS "placedAt", s.started_at AS "startedAt",
    s.ended_at AS "endedAt", s.created_at AS "createdAt", k.kernels, m.mounts, o.host_ports
  FROM (${page}) s JOIN users u ON u.id = s.user_id JOIN projects p ON p.id = s.project_id JOIN domains d ON d.id = s.domain_id
  CROSS JOIN LATERAL (${KERNELS}) k CROSS JOIN LATERAL (${MOUNTS}) m CROSS JOIN LATERAL (${PORTS}) o
  ORDER BY s.created_at DESC, s.id DESC`;

/** Of the request: what is shown is never a secret. */
export const requestedFields = (spec: CreateSession) => ({
  image: spec.image,
  command: spec.command,
  environmentNames: Object.keys(spec.environment).toSorted(),
  maxRuntimeSeconds: spec.maxRuntimeSeconds ?? null,
  minRuntimeSeconds: spec.minRuntimeSeconds,
  startsAt: spec.startsAt ?? null,
  preemptible: preemptibleOf(spec.kind, spec.preemptible),
  resumable: spec.resumable,
  basePriority: spec.priority,
  maxAttempts: spec.retry.maxAttempts,
});

export function toSession(row: SessionRow): Session {
  const { spec, cpu_milli, memory_bytes, gpu_count, gpu_memory_bytes, host_ports, ...rest } = row;
  const ports = spec.ports.map((port) => {
    const published = host_ports.find((one) => one.name === port.name);
    return { ...port, hostPort: published?.hostPort ?? null, node: published?.node ?? null };
  });
  const slots = {
    cpuMilli: cpu_milli,
    memoryBytes: memory_bytes,
    gpuCount: gpu_count,
    gpuMemoryBytes: gpu_memory_bytes,
  };
  return { ...rest, ...requestedFields(spec), slots, ports };
}
