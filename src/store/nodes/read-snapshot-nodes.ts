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
}
interface DeviceRow {
  readonly node: string;
  readonly id: string;
  readonly model: string;
  readonly memory_bytes: number;
  readonly simulated: boolean;
  readonly healthy: boolean;
}
interface UseRow {
  readonly node: string;
  readonly cpuMilli: number;
  readonly memoryBytes: number;
}

/** Nodes without their use, by group, each for one value of `nodes_version`. */
export type NodeCache = Map<string, { readonly version: number; readonly nodes: readonly SnapshotNode[] }>;

/** Frozen, since each pass gets the same objects: one that writes to them would fail, not poison the next. */
const frozen = <Value extends object>(value: Value): Value => Object.freeze(value);

async function readDevices(tx: Runner, group: string): Promise<ReadonlyMap<string, SnapshotDevice[]>> {
  const rows = await tx.rows<DeviceRow>(sql`
    SELECT d.node, d.id, d.model, d.memory_bytes, d.simulated, d.healthy FROM devices d JOIN nodes n ON n.name = d.node
    WHERE n.group_name = ${group} AND n.removed_at IS NULL ORDER BY d.node, d.device_index, d.id`);
  const byNode = new Map<string, SnapshotDevice[]>();
  for (const { node, memory_bytes, ...device } of rows) {
    const list = byNode.get(node) ?? [];
    list.push(
      frozen({
        ...device,
        memoryBytes: memory_bytes,
        sharing: 'none' as const,
        parentId: null,
        heldBy: null,
        shares: [],
      }),
    );
    byNode.set(node, list);
  }
  return byNode;
}

async function readFacts(tx: Runner, group: string): Promise<readonly SnapshotNode[]> {
  const rows = await tx.rows<NodeRow>(sql`
    SELECT name, architecture, zone, state, cpu_milli, memory_bytes FROM nodes
    WHERE group_name = ${group} AND removed_at IS NULL ORDER BY name`);
  const devices = await readDevices(tx, group);
  return rows.map(({ cpu_milli, memory_bytes, ...node }) =>
    frozen({
      ...node,
      capacity: frozen({ cpuMilli: cpu_milli, memoryBytes: memory_bytes }),
      used: frozen({ cpuMilli: 0, memoryBytes: 0 }),
      devices: frozen(devices.get(node.name) ?? []),
      images: [],
      folders: [],
      drain: null,
      moveAt: null,
    }),
  );
}

/** `tx` must be one consistent view: facts that are read here belong to the version that is read here. */
async function cachedFacts(tx: Runner, group: string, cache: NodeCache): Promise<readonly SnapshotNode[]> {
  const row = await tx.first<{ version: number }>(
    sql`SELECT nodes_version AS version FROM resource_groups WHERE name = ${group}`,
  );
  const known = cache.get(group);
  if (known !== undefined && known.version === row?.version) return known.nodes;
  const nodes = await readFacts(tx, group);
  if (row !== undefined && (known === undefined || known.version < row.version))
    cache.set(group, { version: row.version, nodes });
  return nodes;
}

async function readHolds(tx: Runner, group: string): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
  const rows = await tx.rows<{ node: string; devices: Readonly<Record<string, string>> }>(sql`
    SELECT h.node, json_object_agg(h.device_id, h.kernel_id) AS devices
    FROM device_holds h JOIN nodes n ON n.name = h.node
    WHERE h.released_at IS NULL AND n.group_name = ${group} GROUP BY h.node`);
  return new Map(rows.map((row) => [row.node, new Map(Object.entries(row.devices))]));
}

/** The nodes of a group by name, with what is promised of them and who holds which device. */
export async function readSnapshotNodes(tx: Runner, group: string, cache: NodeCache): Promise<readonly SnapshotNode[]> {
  const facts = await cachedFacts(tx, group, cache);
  const uses = await tx.rows<UseRow>(sql`
    SELECT u.node, u.cpu_milli_used AS "cpuMilli", u.memory_bytes_used AS "memoryBytes"
    FROM node_use u JOIN nodes n ON n.name = u.node
    WHERE n.group_name = ${group} AND (u.cpu_milli_used > 0 OR u.memory_bytes_used > 0)`);
  const useOf = new Map(uses.map(({ node, ...used }) => [node, used]));
  const holdsOf = await readHolds(tx, group);
  return facts.map((node) => {
    const used = useOf.get(node.name);
    const holds = holdsOf.get(node.name);
    if (used === undefined && holds === undefined) return node;
    const devices = node.devices.map((device) => {
      const heldBy = holds?.get(device.id);
      return heldBy === undefined ? device : { ...device, heldBy };
    });
    return { ...node, used: used ?? node.used, devices };
  });
}

/** What the nodes are, without their use: for whether a request could ever run. */
export const readNodeFacts = cachedFacts;
