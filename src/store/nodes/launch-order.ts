import type { CreateSession, DeploymentTemplate, KernelId, LaunchOrder, SessionId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';

interface OrderRow {
  readonly session_id: SessionId;
  readonly session_name: string;
  readonly epoch: number;
  readonly deadline: string;
  readonly role: string;
  readonly group_role: string;
  readonly rank: number;
  readonly hostname: string;
  readonly cpu_milli: number;
  readonly memory_bytes: number;
  readonly engine_id: string | null;
  readonly spec: CreateSession;
  readonly sealed_secrets: Buffer | null;
  readonly lost_after_seconds: number;
  readonly failed_attempts: number;
  readonly template: PlacedOrder['replica'];
}
type Order = Omit<LaunchOrder, 'environment' | 'registryCredentials' | 'metrics'>;

export interface PlacedOrder {
  readonly order: Order;
  readonly sealedSecrets: Buffer | null;
  /** Of a deployment's replica: what it was made of. */
  readonly replica: Pick<DeploymentTemplate, 'preset' | 'port' | 'metricsPath'> | null;
}

/** Only for an open placement on this node that has begun, is not being stopped, and may still be created. */
const readOrder = (tx: Runner, node: string, kernel: { readonly id: KernelId; readonly attempt: number }) =>
  tx.first<OrderRow>(sql`
    SELECT s.id AS session_id, s.name AS session_name, r.epoch, k.role, k.group_role, k.rank, k.hostname, k.cpu_milli, k.memory_bytes,
      n.engine_id, s.spec, s.failed_attempts, b.sealed_secrets, v.template, coalesce((g.policy->>'lostAfterSeconds')::float8, 300) AS lost_after_seconds,
      s.placed_at + (s.spec->>'startDeadlineSeconds')::float8 * interval '1 second' AS deadline
    FROM reservations r JOIN sessions s ON s.id = r.session_id AND s.attempt = r.attempt
    JOIN kernels k ON k.id = r.kernel_id JOIN nodes n ON n.name = r.node JOIN resource_groups g ON g.name = s.group_name
    LEFT JOIN submissions b ON b.session_id = s.id LEFT JOIN deployment_replicas d ON d.session_id = s.id
    LEFT JOIN deployment_revisions v ON v.deployment_id = d.deployment_id AND v.revision = d.revision
    WHERE r.kernel_id = ${kernel.id} AND r.attempt = ${kernel.attempt} AND r.node = ${node} AND r.released_at IS NULL
      AND s.state IN ('PREPARING', 'CREATING') AND s.stop_requested_at IS NULL AND k.exited_at IS NULL
      AND now() < s.placed_at + (s.spec->>'startDeadlineSeconds')::float8 * interval '1 second'`);

type OrderedDevice = LaunchOrder['devices'][number];
interface DeviceRow extends Omit<OrderedDevice, 'share'> {
  readonly promised: number | null;
}

/** A share may use what its kernel group names as the limit, and never less than it was promised. */
async function readDevices(tx: Runner, kernelId: KernelId, limitBytes: number | null): Promise<OrderedDevice[]> {
  const rows = await tx.rows<DeviceRow>(sql`
    SELECT d.id, d.device_index AS index, d.model, d.memory_bytes AS "memoryBytes", d.simulated, d.healthy, d.sharing,
      d.parent_id AS "parentId", h.memory_bytes AS promised
    FROM device_holds h JOIN devices d ON d.node = h.node AND d.id = h.device_id
    WHERE h.kernel_id = ${kernelId} AND h.released_at IS NULL ORDER BY d.device_index, d.id`);
  return rows.map(({ promised, ...device }) => {
    if (promised === null) return { ...device, share: null };
    const wanted = Math.max(promised, limitBytes ?? promised);
    return { ...device, share: { memoryBytes: promised, limitBytes: Math.min(wanted, device.memoryBytes) } };
  });
}

/** The ledger starts it elsewhere `lostAfterSeconds` after its node is lost: a fifth earlier, by 5 s where that leaves half, the agent has stopped it. */
export const contactLimitSeconds = (lostAfterSeconds: number): number =>
  lostAfterSeconds - Math.max(lostAfterSeconds * 0.2, Math.min(5, lostAfterSeconds / 2));

/** Every kernel of the session by rank, this one too. */
const readPeers = (tx: Runner, row: OrderRow, attempt: number): Promise<LaunchOrder['peers']> =>
  tx.rows<LaunchOrder['peers'][number]>(sql`
    SELECT k.hostname, k.rank, k.role, r.node, coalesce(n.address, '') AS address,
      n.engine_id IS NOT DISTINCT FROM ${row.engine_id}::text AS "sameEngine"
    FROM kernels k JOIN reservations r ON r.kernel_id = k.id AND r.attempt = ${attempt} JOIN nodes n ON n.name = r.node
    WHERE k.session_id = ${row.session_id} ORDER BY k.rank`);

const readMounts = (tx: Runner, row: OrderRow): Promise<LaunchOrder['mounts']> =>
  tx.rows<LaunchOrder['mounts'][number]>(sql`
    SELECT volume, folder_id AS "folderId", target, read_only AS "readOnly" FROM session_mounts
    WHERE session_id = ${row.session_id}
      AND (roles IS NULL OR roles = 'null' OR roles ? ${row.role}::text OR roles ? ${row.group_role}::text) ORDER BY target`);

const limitOf = (spec: CreateSession, groupRole: string): number | null =>
  spec.kernels.find((group) => group.role === groupRole)?.gpuMemoryLimitBytes ?? null;

export async function launchOrder(
  tx: Runner,
  node: string,
  kernel: { readonly id: KernelId; readonly attempt: number },
): Promise<PlacedOrder | null> {
  const row = await readOrder(tx, node, kernel);
  if (row === undefined) return null;
  const { spec } = row;
  const isMain = row.role === 'main';
  const peers = await readPeers(tx, row, kernel.attempt);
  const order: Order = {
    sessionId: row.session_id,
    kernelId: kernel.id,
    attempt: kernel.attempt,
    epoch: row.epoch,
    deadline: row.deadline,
    sessionName: row.session_name,
    role: row.role,
    rank: row.rank,
    size: peers.length,
    hostname: row.hostname,
    image: spec.image,
    entrypoint: spec.entrypoint ?? null,
    command: spec.command,
    workdir: spec.workdir ?? null,
    cpuMilli: row.cpu_milli,
    memoryBytes: row.memory_bytes,
    devices: await readDevices(tx, kernel.id, limitOf(spec, row.group_role)),
    mounts: await readMounts(tx, row),
    ports: isMain ? spec.ports : [],
    healthCheck: isMain ? (spec.healthCheck ?? null) : null,
    gracePeriodSeconds: spec.gracePeriodSeconds,
    notice: spec.notice,
    retryable: row.failed_attempts + 1 < spec.retry.maxAttempts,
    contactLimitSeconds: contactLimitSeconds(row.lost_after_seconds),
    ipc: spec.kind === 'system' && spec.labels['berth.pool'] !== undefined ? 'shareable' : 'private',
    peers,
  };
  return { order, sealedSecrets: row.sealed_secrets, replica: isMain ? row.template : null };
}
