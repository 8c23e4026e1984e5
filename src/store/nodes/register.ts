import type { RegisterNode } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';
import { raiseGeneration } from './raise-generation.js';

/** Upserts what the machine has. Returns whether a device differs from what was known. */
async function writeDevices(tx: Runner, name: string, facts: RegisterNode): Promise<boolean> {
  const written = await tx.run(sql`
    INSERT INTO devices AS d (node, id, device_index, model, memory_bytes, simulated, healthy, sharing, parent_id)
    SELECT ${name}, f.id, f.index, f.model, f."memoryBytes", f.simulated, f.healthy, f.sharing, f."parentId"
    FROM jsonb_to_recordset(${json(facts.devices)}::jsonb)
      AS f(id text, index int, model text, "memoryBytes" bigint, simulated boolean, healthy boolean, sharing text, "parentId" text)
    ON CONFLICT (node, id) DO UPDATE SET device_index = excluded.device_index, model = excluded.model,
      memory_bytes = excluded.memory_bytes, simulated = excluded.simulated, sharing = excluded.sharing, parent_id = excluded.parent_id,
      healthy = excluded.healthy AND d.unhealthy_reason IS NULL
    WHERE (d.device_index, d.model, d.memory_bytes, d.simulated, d.sharing, d.parent_id, d.healthy) IS DISTINCT FROM
      (excluded.device_index, excluded.model, excluded.memory_bytes, excluded.simulated, excluded.sharing, excluded.parent_id,
        excluded.healthy AND d.unhealthy_reason IS NULL)`);
  const gone = sql`d.node = ${name} AND d.id <> ALL(${facts.devices.map((device) => device.id)})`;
  const dropped = await tx.run(sql`
    DELETE FROM devices d WHERE ${gone} AND NOT EXISTS (SELECT 1 FROM device_holds h WHERE h.node = d.node AND h.device_id = d.id)`);
  // What holds or held it names it still: it stays, and takes nothing new.
  const marked = await tx.run(
    sql`UPDATE devices d SET healthy = false, unhealthy_reason = NULL WHERE ${gone} AND d.healthy`,
  );
  return written + dropped + marked > 0;
}

/**
 * Capacity and devices. The limit of each slot never falls below what is promised (the CHECK would refuse the register and
 * the node could not come back at all): its state's reason says so, takes nothing new, and passes lower the limit later.
 */
export async function register(tx: Runner, name: string, facts: RegisterNode): Promise<void> {
  const node = await tx.first<{
    group_name: string;
    cpu_milli: number;
    memory_bytes: number;
    architecture: string;
  }>(sql`
    SELECT group_name, cpu_milli, memory_bytes, architecture FROM nodes WHERE name = ${name} AND removed_at IS NULL`);
  if (node === undefined) throw new Error(`there is no node ${name}`);
  await tx.first(sql`SELECT 1 FROM resource_groups WHERE name = ${node.group_name} FOR NO KEY UPDATE`); // the order of a commit
  const { capacity } = facts;
  const devicesChanged = await writeDevices(tx, name, facts);
  await tx.run(sql`
    UPDATE node_use SET cpu_milli_limit = greatest(${capacity.cpuMilli}, cpu_milli_used),
      memory_bytes_limit = greatest(${capacity.memoryBytes}, memory_bytes_used),
      gpu_count_limit = greatest((SELECT count(*) FROM devices WHERE node = ${name}), gpu_count_used)
    WHERE node = ${name}`);
  await tx.run(sql`
    UPDATE nodes SET architecture = ${facts.architecture}, cpu_milli = ${capacity.cpuMilli}, memory_bytes = ${capacity.memoryBytes},
      agent_url = ${facts.agentUrl}, address = ${facts.address}, engine_id = ${facts.engineId}, agent_version = ${facts.agentVersion},
      images = ${json(facts.images)}::jsonb, last_seen_at = now(), silent_since = NULL
    WHERE name = ${name}`);
  const capacityChanged =
    node.cpu_milli !== capacity.cpuMilli ||
    node.memory_bytes !== capacity.memoryBytes ||
    node.architecture !== facts.architecture;
  if (devicesChanged || capacityChanged) await raiseGeneration(tx, node.group_name);
}
