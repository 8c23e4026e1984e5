import type { Node, Page } from '../../contract/index.js';
import { afterCursor, pageOfRows } from '../cursor.js';
import type { Runner } from '../database.js';
import { type Sql, sql } from '../sql.js';
import type { NodeStore } from '../store.js';
import { nextMove } from './next-move.js';

type NodeRow = Omit<Node, 'capacity' | 'used' | 'simulated' | 'move'> & {
  readonly move: Node['move'] | undefined;
  readonly cpu_milli: number;
  readonly memory_bytes: number;
  readonly cpu_milli_used: number;
  readonly memory_bytes_used: number;
};

const toNode = ({ cpu_milli, memory_bytes, cpu_milli_used, memory_bytes_used, move, ...node }: NodeRow): Node => ({
  ...node,
  move: move ?? null,
  capacity: { cpuMilli: cpu_milli, memoryBytes: memory_bytes },
  used: { cpuMilli: cpu_milli_used, memoryBytes: memory_bytes_used },
  simulated: node.devices.some((device) => device.simulated),
});

const ISO = (moment: Sql): Sql => sql`to_char(${moment} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const DEVICES = sql`
  SELECT coalesce(json_agg(json_build_object('id', d.id, 'index', d.device_index, 'model', d.model,
    'memoryBytes', d.memory_bytes, 'simulated', d.simulated, 'healthy', d.healthy, 'sharing', d.sharing, 'parentId', d.parent_id,
    'heldBy', held.by, 'shares', held.shares) ORDER BY d.device_index, d.id), '[]') AS devices
  FROM devices d CROSS JOIN LATERAL (
    SELECT (json_agg(json_build_object('sessionId', h.session_id, 'kernelId', h.kernel_id)) FILTER (WHERE h.memory_bytes IS NULL))->0 AS by,
      coalesce(json_agg(json_build_object('sessionId', h.session_id, 'kernelId', h.kernel_id, 'memoryBytes', h.memory_bytes)
        ORDER BY h.kernel_id) FILTER (WHERE h.memory_bytes IS NOT NULL), '[]') AS shares
    FROM device_holds h WHERE h.node = d.node AND h.device_id = d.id AND h.released_at IS NULL) held
  WHERE d.node = n.name`;

/** Protected work leaves when its minimum runtime is over, at the deadline at the latest, and each has its grace then. */
const GONE_AT = sql`coalesce(s.gone_by, least(
  greatest(coalesce(s.started_at, now()) + s.min_runtime_ms * interval '1 ms', now()),
  CASE WHEN n.drain_deadline IS NOT NULL THEN greatest(n.drain_deadline, now()) END) + s.grace_ms * interval '1 ms')`;
const DRAIN = sql`
  SELECT CASE WHEN n.drain_since IS NOT NULL OR n.unhealthy_reason IS NOT NULL THEN json_build_object(
    'since', ${ISO(sql`coalesce(n.drain_since, n.unhealthy_since)`)}, 'reason', coalesce(n.drain_reason, n.unhealthy_reason),
    'actor', coalesce(n.drain_actor, n.unhealthy_by), 'deadline', ${ISO(sql`n.drain_deadline`)},
    'emptyAt', ${ISO(sql`max(${GONE_AT})`)}, 'remaining', count(s.id)) END AS drain
  FROM sessions s WHERE s.id IN (SELECT r.session_id FROM reservations r WHERE r.node = n.name AND r.released_at IS NULL)`;

/** Used is what open reservations hold now, not what passes have folded so far. */
const nodesWhere = (where: Sql, limit: number): Sql => sql`
  SELECT n.name, n.group_name AS "group", n.state, n.state_reason AS "stateReason", n.architecture, n.zone,
    n.cpu_milli, n.memory_bytes, held.cpu_milli_used, held.memory_bytes_used, devices.devices, n.images, drain.drain, move.move,
    n.last_seen_at AS "lastSeenAt", n.created_at AS "createdAt", n.agent_version AS "agentVersion"
  FROM (SELECT * FROM nodes n WHERE n.removed_at IS NULL AND ${where} ORDER BY n.created_at, n.name LIMIT ${limit}) n
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(cpu_milli), 0)::bigint AS cpu_milli_used, coalesce(sum(memory_bytes), 0)::bigint AS memory_bytes_used
    FROM reservations WHERE node = n.name AND released_at IS NULL) held
  CROSS JOIN LATERAL (${DEVICES}) devices
  CROSS JOIN LATERAL (${DRAIN}) drain
  LEFT JOIN LATERAL (${nextMove(sql`json_build_object('toGroup', m.to_group, 'at', ${ISO(sql`m.at`)}, 'repeat', m.repeat) AS move`)}) move ON true
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
