import type { NodeState, SnapshotDevice, SnapshotNode } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';

interface NodeRow {
  readonly name: string;
  readonly architecture: string;
  readonly zone: string | null;
  readonly state: NodeState;
  readonly cpu_milli: number;
  readonly memory_bytes: number;
  readonly cpu_milli_used: number;
  readonly memory_bytes_used: number;
}
interface DeviceRow {
  readonly node: string;
  readonly id: string;
  readonly model: string;
  readonly memory_bytes: number;
  readonly simulated: boolean;
  readonly healthy: boolean;
  readonly held_by: string | null;
}

async function readDevices(tx: Runner, group: string): Promise<ReadonlyMap<string, SnapshotDevice[]>> {
  const rows = await tx.rows<DeviceRow>(sql`
    SELECT d.node, d.id, d.model, d.memory_bytes, d.simulated, d.healthy, h.kernel_id AS held_by
    FROM devices d JOIN nodes n ON n.name = d.node
    LEFT JOIN device_holds h ON h.node = d.node AND h.device_id = d.id AND h.released_at IS NULL
    WHERE n.group_name = ${group} AND n.removed_at IS NULL
    ORDER BY d.node, d.device_index, d.id`);
  const byNode = new Map<string, SnapshotDevice[]>();
  for (const { node, memory_bytes, held_by, ...device } of rows) {
    const list = byNode.get(node) ?? [];
    list.push({ ...device, memoryBytes: memory_bytes, heldBy: held_by });
    byNode.set(node, list);
  }
  return byNode;
}

/** The nodes of a group by name, with what is promised of them and who holds which device. */
export async function readSnapshotNodes(tx: Runner, group: string): Promise<readonly SnapshotNode[]> {
  const rows = await tx.rows<NodeRow>(sql`
    SELECT n.name, n.architecture, n.zone, n.state, n.cpu_milli, n.memory_bytes, u.cpu_milli_used, u.memory_bytes_used
    FROM nodes n JOIN node_use u ON u.node = n.name
    WHERE n.group_name = ${group} AND n.removed_at IS NULL ORDER BY n.name`);
  const devices = await readDevices(tx, group);
  return rows.map((row) => ({
    name: row.name,
    architecture: row.architecture,
    zone: row.zone,
    state: row.state,
    capacity: { cpuMilli: row.cpu_milli, memoryBytes: row.memory_bytes },
    used: { cpuMilli: row.cpu_milli_used, memoryBytes: row.memory_bytes_used },
    devices: devices.get(row.name) ?? [],
  }));
}
