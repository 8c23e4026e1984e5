import type { CreateSession, Session } from '../../contract/index.js';
import { guaranteesOf } from '../../lifecycle/device-guarantees.js';
import { contractOf } from '../../lifecycle/gpu-contract.js';
import { protectedUntil } from '../../lifecycle/protection.js';
import { isFairShare } from '../budgets/raise-fair-share.js';
import { type Sql, sql } from '../sql.js';
import { IDLE } from '../usage/list-usage.js';
import { preemptibleOf } from './request-fields.js';

export interface SessionRow
  extends Omit<
    Session,
    | Exclude<keyof ReturnType<typeof requestedFields>, 'budget'>
    | 'slots'
    | 'ports'
    | 'kernels'
    | 'protectedUntil'
    | 'expectedStart'
  > {
  readonly spec: CreateSession;
  readonly cpu_milli: number;
  readonly memory_bytes: number;
  readonly gpu_count: number;
  readonly gpu_memory_bytes: number;
  readonly min_runtime_ms: number;
  readonly grace_ms: number;
  /** The longest grace of unallocated work; null where its group does not order by fair share. */
  readonly unallocated_grace_seconds: number | null;
  readonly charges_leaf: boolean;
  readonly expected_start: string | null;
  readonly expected_basis: string | null;
  readonly kernels: readonly Session['kernels'][number][];
  readonly host_ports: readonly { readonly name: string; readonly hostPort: number; readonly node: string }[];
}

/** Of a share, the limit that its kernel's part of the request names. */
const LIMIT = sql`(SELECT (g->>'gpuMemoryLimitBytes')::bigint FROM jsonb_array_elements(s.spec->'kernels') AS g
  WHERE coalesce(g->>'role', 'main') = k.group_role LIMIT 1)`;
const KERNELS = sql`
  SELECT coalesce(json_agg(json_build_object('id', k.id, 'role', k.role, 'rank', k.rank, 'slots', json_build_object(
      'cpuMilli', k.cpu_milli, 'memoryBytes', k.memory_bytes, 'gpuCount', k.gpu_count, 'gpuMemoryBytes', k.gpu_memory_bytes),
    'node', r.node, 'devices', devices.list, 'hostname', k.hostname, 'exitCode', k.exit_code, 'exitReason', k.exit_reason,
    'logTail', k.log_tail) ORDER BY k.rank), '[]') AS kernels
  FROM kernels k LEFT JOIN reservations r ON r.kernel_id = k.id AND r.attempt = s.attempt AND s.state <> 'PENDING'
  CROSS JOIN LATERAL (
    SELECT coalesce(json_agg(json_build_object('id', d.id, 'model', d.model, 'simulated', d.simulated,
      'share', CASE WHEN h.memory_bytes IS NOT NULL THEN json_build_object('memoryBytes', h.memory_bytes, 'sharing', d.sharing,
        'limitBytes', CASE WHEN d.sharing = 'mig' THEN h.memory_bytes ELSE coalesce(${LIMIT}, h.memory_bytes) END) END)
      ORDER BY d.device_index), '[]') AS list
    FROM device_holds h JOIN devices d ON d.node = h.node AND d.id = h.device_id
    WHERE h.kernel_id = k.id AND h.attempt = s.attempt AND s.state <> 'PENDING') devices
  WHERE k.session_id = s.id`;
const MOUNTS = sql`
  SELECT coalesce(json_agg(json_build_object('folder', folder_name, 'folderId', folder_id, 'target', target, 'readOnly', read_only)
    ORDER BY target), '[]') AS mounts FROM session_mounts WHERE session_id = s.id`;
const DEPENDS_ON = sql`
  SELECT coalesce(json_agg(json_build_object('sessionId', u.id, 'name', u.name, 'state', u.state, 'onFailure', d.on_failure)
    ORDER BY u.id), '[]') AS depends_on
  FROM session_dependencies d JOIN sessions u ON u.id = d.upstream_id WHERE d.session_id = s.id`;
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
    s.ended_at AS "endedAt", s.created_at AS "createdAt", s.min_runtime_ms, s.grace_ms, s.expected_start, s.expected_basis,
    CASE WHEN s.budget_id IS NOT NULL THEN budget_path(s.budget_id) END AS budget,
    s.budget_id IS NOT NULL AND EXISTS (SELECT 1 FROM open_leaves l WHERE l.id = s.budget_id) AS charges_leaf,
    (SELECT coalesce((b.settings->>'unallocatedGraceSeconds')::float8, 30) FROM budget_settings b JOIN resource_groups g
      ON g.name = s.group_name AND ${isFairShare(sql`g.policy`)}) AS unallocated_grace_seconds,
    CASE WHEN s.state = 'PENDING' THEN s.retry_at END AS "retryAt", k.kernels, m.mounts, o.host_ports, u2.depends_on AS "dependsOn", (${IDLE}) AS idle
  FROM (${page}) s JOIN users u ON u.id = s.user_id JOIN projects p ON p.id = s.project_id JOIN domains d ON d.id = s.domain_id
  CROSS JOIN LATERAL (${KERNELS}) k CROSS JOIN LATERAL (${MOUNTS}) m CROSS JOIN LATERAL (${PORTS}) o
  CROSS JOIN LATERAL (${DEPENDS_ON}) u2
  ORDER BY s.created_at DESC, s.id DESC`;

/** Of the request: what is shown is never a secret. */
export const requestedFields = (spec: CreateSession) => ({
  budget: spec.budget ?? null,
  contract: null,
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

const RUNS: ReadonlySet<Session['state']> = new Set(['RUNNING', 'PREEMPTING']);

const withGuarantees = (kernels: SessionRow['kernels']): Session['kernels'] =>
  kernels.map((kernel) => ({
    ...kernel,
    devices: kernel.devices.map((device) => ({ ...device, guarantees: guaranteesOf(device.share?.sharing ?? null) })),
  }));

const portsOf = ({ spec, host_ports }: Pick<SessionRow, 'spec' | 'host_ports'>): Session['ports'] =>
  spec.ports.map((port) => {
    const published = host_ports.find((one) => one.name === port.name);
    return { ...port, hostPort: published?.hostPort ?? null, node: published?.node ?? null };
  });

const gpuContractOf = (row: SessionRow): Session['contract'] =>
  row.unallocated_grace_seconds === null
    ? null
    : contractOf({
        budget: row.charges_leaf ? row.budget : null,
        minRuntimeSeconds: row.min_runtime_ms / 1000,
        graceSeconds: row.grace_ms / 1000,
        unallocatedGraceSeconds: row.unallocated_grace_seconds,
      });

/** Under fair share nothing protects what names no budget, whatever it was given under another order. */
const keepsMinimum = (row: SessionRow): boolean => row.unallocated_grace_seconds === null || row.budget !== null;

export function toSession(row: SessionRow): Session {
  const { spec, cpu_milli, memory_bytes, gpu_count, gpu_memory_bytes, host_ports, kernels, ...others } = row;
  const { min_runtime_ms, grace_ms: _grace, expected_start, expected_basis, ...further } = others;
  const { unallocated_grace_seconds: _seconds, charges_leaf: _charges, ...rest } = further;
  const contract = { startedAt: row.startedAt, minRuntimeSeconds: min_runtime_ms / 1000 };
  const isExpected = row.state === 'PENDING' && expected_basis !== null;
  return {
    ...rest,
    ...requestedFields(spec),
    budget: row.budget,
    contract: gpuContractOf(row),
    kernels: withGuarantees(kernels),
    protectedUntil: RUNS.has(row.state) && keepsMinimum(row) ? protectedUntil(contract) : null,
    expectedStart: isExpected ? { at: expected_start, basis: expected_basis } : null,
    slots: {
      cpuMilli: cpu_milli,
      memoryBytes: memory_bytes,
      gpuCount: gpu_count,
      gpuMemoryBytes: gpu_memory_bytes,
    },
    ports: portsOf({ spec, host_ports }),
  };
}
