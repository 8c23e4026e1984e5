import type { Runner } from '../database.js';
import { sql } from '../sql.js';

/**
 * Takes released reservations off the use of their nodes and devices and adds their GPU-time to the buckets, each once. A node
 * that promises more than it has (it came back smaller) has its limit lowered as its promises end.
 */
export async function foldReleased(tx: Runner, group: string): Promise<void> {
  const row = await tx.first<{ kept: readonly string[] }>(sql`
    WITH folded AS (
      UPDATE reservations r SET folded = true
      FROM nodes n WHERE n.name = r.node AND n.group_name = ${group} AND r.released_at IS NOT NULL AND NOT r.folded
      RETURNING r.id, r.node, r.cpu_milli, r.memory_bytes, r.gpu_count, r.fair_share),
    returned AS (
      UPDATE device_holds h SET folded = true, released_at = coalesce(h.released_at, now())
      FROM folded f WHERE h.reservation_id = f.id AND NOT h.folded RETURNING h.node, h.device_id, h.memory_bytes),
    devices_freed AS (
      UPDATE device_use u SET whole = u.whole - d.whole, shares = u.shares - d.shares, shared_bytes = u.shared_bytes - d.shared
      FROM (SELECT node, device_id, count(*) FILTER (WHERE memory_bytes IS NULL) AS whole, count(memory_bytes) AS shares,
              coalesce(sum(memory_bytes), 0) AS shared FROM returned GROUP BY node, device_id) d
      WHERE u.node = d.node AND u.device_id = d.device_id),
    freed AS (
      SELECT node, sum(cpu_milli)::bigint AS cpu, sum(memory_bytes)::bigint AS memory, sum(gpu_count)::bigint AS gpus
      FROM folded GROUP BY node),
    real AS (
      SELECT f.*, n.cpu_milli, n.memory_bytes, (SELECT count(*) FROM devices d WHERE d.node = n.name) AS gpu_count
      FROM freed f JOIN nodes n ON n.name = f.node),
    nodes_freed AS (UPDATE node_use u SET
      cpu_milli_used = u.cpu_milli_used - r.cpu, cpu_milli_limit = greatest(r.cpu_milli, u.cpu_milli_used - r.cpu),
      memory_bytes_used = u.memory_bytes_used - r.memory, memory_bytes_limit = greatest(r.memory_bytes, u.memory_bytes_used - r.memory),
      gpu_count_used = u.gpu_count_used - r.gpus, gpu_count_limit = greatest(r.gpu_count, u.gpu_count_used - r.gpus)
    FROM real r WHERE u.node = r.node)
    SELECT coalesce(json_agg(id::text ORDER BY id) FILTER (WHERE fair_share), '[]') AS kept FROM folded`);
  const kept = row?.kept ?? [];
  if (kept.length > 0) await tx.run(sql`SELECT add_gpu_time(${kept}::bigint[])`);
}
