import type { SnapshotRoom, SnapshotRunning } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';

interface RunningRow
  extends Omit<
    SnapshotRunning,
    'kernels' | 'budgetId' | 'milliGpus' | 'minRuntimeSeconds' | 'maxRuntimeSeconds' | 'gracePeriodSeconds'
  > {
  readonly min_runtime_ms: number;
  readonly max_runtime_ms: number | null;
  readonly grace_ms: number;
}

const GRACE = sql`CASE WHEN s.stop_force THEN 0 ELSE coalesce(s.stop_grace_ms, s.grace_ms) END * interval '1 ms'`;
/** A preemption says it; a stop or an end that came otherwise leaves within the grace. */
const GONE_BY = sql`
  CASE WHEN s.state = 'TERMINATING' OR s.stop_requested_at IS NOT NULL
    THEN least(s.gone_by, coalesce(s.ending_at, s.stop_requested_at) + ${GRACE}) ELSE s.gone_by END`;
const ofGroup = (group: string) => sql`
  s.group_name = ${group} AND s.state IN ('SCHEDULED', 'PREPARING', 'CREATING', 'RUNNING', 'PREEMPTING', 'TERMINATING')`;

const readSessions = (tx: Runner, group: string): Promise<RunningRow[]> =>
  tx.rows<RunningRow>(sql`
    SELECT s.id, s.name, s.version, s.attempt, s.user_id AS "userId", s.project_id AS "projectId", s.domain_id AS "domainId", s.kind,
      s.priority, s.submitted_at AS "submittedAt", s.placed_at AS "placedAt", s.started_at AS "startedAt", s.min_runtime_ms,
      s.max_runtime_ms, s.grace_ms, s.preemptible, s.resumable, s.wishes->>'replicaGroup' AS "replicaGroup", ${GONE_BY} AS "goneBy"
    FROM sessions s WHERE ${ofGroup(group)} ORDER BY s.id`);

interface HoldRow {
  readonly reservation: number;
  readonly device: string;
  readonly memoryBytes: number | null;
}
interface Held {
  readonly devices: string[];
  /** Promised of its one device; null: its devices are whole. */
  readonly memoryBytes: number | null;
}

async function readHeld(tx: Runner, group: string): Promise<ReadonlyMap<number, Held>> {
  const rows = await tx.rows<HoldRow>(sql`
    SELECT h.reservation_id AS reservation, h.device_id AS device, h.memory_bytes AS "memoryBytes"
    FROM device_holds h JOIN nodes n ON n.name = h.node WHERE NOT h.folded AND n.group_name = ${group} ORDER BY h.device_id`);
  const held = new Map<number, Held>();
  for (const { reservation, device, memoryBytes } of rows) {
    const found = held.get(reservation);
    if (found === undefined) held.set(reservation, { devices: [device], memoryBytes });
    else found.devices.push(device);
  }
  return held;
}

interface RoomRow {
  readonly session: string;
  readonly reservation: number;
  readonly kernelId: SnapshotRoom['kernelId'];
  readonly node: string;
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly gpuCount: number;
  readonly gpuMemoryBytes: number;
  readonly budgetId: SnapshotRunning['budgetId'];
  readonly milliGpus: number;
}
interface Roomed {
  readonly budgetId: SnapshotRunning['budgetId'];
  milliGpus: number;
  readonly kernels: SnapshotRoom[];
}
type Rooms = ReadonlyMap<string, Readonly<Roomed>>;

/** The budget is the one of the booking, by what counts now; none where it is not charged though it has a minimum runtime. */
async function readRooms(tx: Runner, group: string): Promise<Rooms> {
  const held = await readHeld(tx, group);
  const rows = await tx.rows<RoomRow>(sql`
    SELECT r.session_id AS session, r.id AS reservation, r.kernel_id AS "kernelId", r.node, r.cpu_milli AS "cpuMilli",
      r.memory_bytes AS "memoryBytes", r.gpu_count AS "gpuCount", r.gpu_memory_bytes AS "gpuMemoryBytes", r.milli_gpus AS "milliGpus",
      CASE WHEN r.budget_id IS NOT NULL AND (r.allocated OR s.min_runtime_ms = 0) THEN (
        SELECT h.home FROM budget_homes h WHERE h.id = r.budget_id) END AS "budgetId"
    FROM reservations r JOIN sessions s ON s.id = r.session_id AND s.attempt = r.attempt
    WHERE r.released_at IS NULL AND ${ofGroup(group)} ORDER BY r.kernel_id`);
  const rooms = new Map<string, Roomed>();
  for (const { session, reservation, kernelId, node, budgetId, milliGpus, ...asked } of rows) {
    const { devices = [], memoryBytes = null } = held.get(reservation) ?? {};
    const slots = memoryBytes === null ? asked : { ...asked, gpuMemoryBytes: memoryBytes };
    const room = { kernelId, node, deviceIds: devices, slots };
    const found = rooms.get(session);
    if (found === undefined) rooms.set(session, { budgetId, milliGpus, kernels: [room] });
    else {
      found.kernels.push(room);
      found.milliGpus += milliGpus;
    }
  }
  return rooms;
}

/**
 * Everybody who holds room of the group, by id: from the placement until the release. Three plain reads that are put together
 * here: one statement with nested aggregates cost Postgres three times as much.
 */
export async function readRunning(tx: Runner, group: string): Promise<readonly SnapshotRunning[]> {
  const rooms = await readRooms(tx, group);
  const rows = await readSessions(tx, group);
  return rows.flatMap(({ min_runtime_ms, max_runtime_ms, grace_ms, ...row }) => {
    const held = rooms.get(row.id);
    if (held === undefined) return [];
    const bounds = {
      minRuntimeSeconds: min_runtime_ms / 1000,
      maxRuntimeSeconds: max_runtime_ms === null ? null : max_runtime_ms / 1000,
      gracePeriodSeconds: grace_ms / 1000,
    };
    return [{ ...row, ...bounds, ...held }];
  });
}
