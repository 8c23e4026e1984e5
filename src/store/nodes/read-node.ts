import type { Node, Page } from '../../contract/index.js';
import { afterCursor, pageOfRows } from '../cursor.js';
import type { Runner } from '../database.js';
import { type Sql, sql } from '../sql.js';
import type { NodeStore } from '../store.js';

type NodeRow = Omit<Node, 'capacity' | 'used' | 'simulated'> & {
  readonly cpu_milli: number;
  readonly memory_bytes: number;
  readonly cpu_milli_used: number;
  readonly memory_bytes_used: number;
};

const toNode = ({ cpu_milli, memory_bytes, cpu_milli_used, memory_bytes_used, ...node }: NodeRow): Node => ({
  ...node,
  capacity: { cpuMilli: cpu_milli, memoryBytes: memory_bytes },
  used: { cpuMilli: cpu_milli_used, memoryBytes: memory_bytes_used },
  simulated: node.devices.some((device) => device.simulated),
});

/** Used is what open reservations hold now, not what passes have folded so far. */
const nodesWhere = (where: Sql, limit: number): Sql => sql`
  SELECT n.name, n.group_name AS "group", n.state, n.state_reason AS "stateReason", n.architecture, n.zone,
    n.cpu_milli, n.memory_bytes, held.cpu_milli_used, held.memory_bytes_used, devices.devices,
    n.last_seen_at AS "lastSeenAt", n.created_at AS "createdAt", n.agent_version AS "agentVersion"
  FROM (SELECT * FROM nodes n WHERE n.removed_at IS NULL AND ${where} ORDER BY n.created_at, n.name LIMIT ${limit}) n
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(cpu_milli), 0)::bigint AS cpu_milli_used, coalesce(sum(memory_bytes), 0)::bigint AS memory_bytes_used
    FROM reservations WHERE node = n.name AND released_at IS NULL) held
  CROSS JOIN LATERAL (
    SELECT coalesce(json_agg(json_build_object('id', d.id, 'index', d.device_index, 'model', d.model,
      'memoryBytes', d.memory_bytes, 'simulated', d.simulated, 'healthy', d.healthy,
      'heldBy', CASE WHEN h.id IS NULL THEN NULL ELSE json_build_object('sessionId', h.session_id, 'kernelId', h.kernel_id) END)
      ORDER BY d.device_index, d.id), '[]') AS devices
    FROM devices d LEFT JOIN device_holds h ON h.node = d.node AND h.device_id = d.id AND h.released_at IS NULL
    WHERE d.node = n.name) devices
  ORDER BY n.created_at, n.name`;

export async function readNode(tx: Runner, name: string): Promise<Node | null> {
  const row = await tx.first<NodeRow>(nodesWhere(sql`n.name = ${name}`, 1));
  return row === undefined ? null : toNode(row);
}

export async function listNodes(tx: Runner, query: Parameters<NodeStore['list']>[0]): Promise<Page<Node>> {
  const inGroup = query.group === undefined ? sql`true` : sql`n.group_name = ${query.group}`;
  const after = afterCursor(query, { created: sql`n.created_at`, id: sql`n.name`, newestFirst: false });
  const rows = await tx.rows<NodeRow>(nodesWhere(sql`${inGroup} AND ${after}`, query.limit + 1));
  return pageOfRows(rows, query, { item: toNode, key: (row) => [row.createdAt, row.name] });
}
