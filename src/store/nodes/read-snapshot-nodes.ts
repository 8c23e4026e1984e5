import type { NodeState, Sharing, SnapshotDevice, SnapshotNode } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';

interface NodeRow {
  readonly name: string;
  readonly architecture: string;
  readonly zone: string | null;
  readonly state: NodeState;
  readonly cpu_milli: number;
  readonly memory_bytes: number;
  readonly images: readonly string[];
  readonly drain_since: string | null;
  readonly drain_deadline: string | null;
  readonly move_at: string | null;
}
interface DeviceRow {
  readonly node: string;
  readonly id: string;
  readonly model: string;
  readonly memory_bytes: number;
  readonly simulated: boolean;
  readonly healthy: boolean;
  readonly sharing: Sharing;
  readonly parent_id: string | null;
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
const list = <Item>(items: readonly Item[]): Item[] => frozen([...items]);

async function readDevices(tx: Runner, group: string): Promise<ReadonlyMap<string, SnapshotDevice[]>> {
  const rows = await tx.rows<DeviceRow>(sql`
    SELECT d.node, d.id, d.model, d.memory_bytes, d.simulated, d.healthy, d.sharing, d.parent_id
    FROM devices d JOIN nodes n ON n.name = d.node
    WHERE n.group_name = ${group} AND n.removed_at IS NULL ORDER BY d.node, d.device_index, d.id`);
  const byNode = new Map<string, SnapshotDevice[]>();
  for (const { node, memory_bytes, parent_id, ...device } of rows) {
    const devices = byNode.get(node) ?? [];
    const nobody = { heldBy: null, shares: list<SnapshotDevice['shares'][number]>([]) };
    devices.push(frozen({ ...device, memoryBytes: memory_bytes, parentId: parent_id, ...nobody }));
    byNode.set(node, devices);
  }
  return byNode;
}

/** What makes its work leave: a drain, or the mark UNHEALTHY. Its next move is the earliest to another group. */
const readRows = (tx: Runner, group: string): Promise<NodeRow[]> =>
  tx.rows<NodeRow>(sql`
    SELECT n.name, n.architecture, n.zone, n.state, n.cpu_milli, n.memory_bytes, n.images,
      least(n.drain_since, CASE WHEN n.unhealthy_reason IS NOT NULL THEN coalesce(n.unhealthy_since, n.created_at) END) AS drain_since,
      n.drain_deadline, (SELECT min(m.at) FROM node_moves m WHERE m.node = n.name AND m.to_group <> n.group_name) AS move_at
    FROM nodes n WHERE n.group_name = ${group} AND n.removed_at IS NULL ORDER BY n.name`);

async function readFacts(tx: Runner, group: string): Promise<readonly SnapshotNode[]> {
  const rows = await readRows(tx, group);
  const devices = await readDevices(tx, group);
  return rows.map(({ cpu_milli, memory_bytes, drain_since, drain_deadline, move_at, images, ...node }) =>
    frozen({
      ...node,
      capacity: frozen({ cpuMilli: cpu_milli, memoryBytes: memory_bytes }),
      used: frozen({ cpuMilli: 0, memoryBytes: 0 }),
      devices: frozen(devices.get(node.name) ?? []),
      images: list(images),
      folders: list<string>([]),
      drain: drain_since === null ? null : frozen({ since: drain_since, deadline: drain_deadline }),
      moveAt: move_at,
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

interface Hold {
  readonly device: string;
  readonly kernelId: string;
  /** Promised; null: it is held whole. */
  readonly memoryBytes: number | null;
}

function byDevice(holds: readonly Hold[]): ReadonlyMap<string, Hold[]> {
  const found = new Map<string, Hold[]>();
  for (const hold of holds) found.set(hold.device, [...(found.get(hold.device) ?? []), hold]);
  return found;
}

/** Until a pass has folded them: what was released since is not promised to anybody yet. */
async function readHolds(tx: Runner, group: string): Promise<ReadonlyMap<string, ReadonlyMap<string, Hold[]>>> {
  const rows = await tx.rows<{ node: string; holds: readonly Hold[] }>(sql`
    SELECT h.node, json_agg(json_build_object('device', h.device_id, 'kernelId', h.kernel_id, 'memoryBytes', h.memory_bytes)
      ORDER BY h.device_id, h.kernel_id) AS holds
    FROM device_holds h JOIN nodes n ON n.name = h.node
    WHERE NOT h.folded AND n.group_name = ${group} GROUP BY h.node`);
  return new Map(rows.map((row) => [row.node, byDevice(row.holds)]));
}

function heldDevice(device: SnapshotDevice, holds: readonly Hold[] | undefined): SnapshotDevice {
  if (holds === undefined) return device;
  const heldBy = holds.find((hold) => hold.memoryBytes === null)?.kernelId ?? null;
  const shares = holds.flatMap(({ kernelId, memoryBytes }) =>
    memoryBytes === null ? [] : [{ kernelId, memoryBytes }],
  );
  return { ...device, heldBy, shares };
}

/** Folders that open sessions mount there. */
async function readFolders(tx: Runner, group: string): Promise<ReadonlyMap<string, string[]>> {
  const rows = await tx.rows<{ node: string; folders: string[] }>(sql`
    SELECT r.node, json_agg(DISTINCT m.folder_id ORDER BY m.folder_id) AS folders
    FROM reservations r JOIN nodes n ON n.name = r.node JOIN session_mounts m ON m.session_id = r.session_id
    WHERE r.released_at IS NULL AND n.group_name = ${group} GROUP BY r.node`);
  return new Map(rows.map((row) => [row.node, row.folders]));
}

/** The nodes of a group by name, with what is promised of them and who holds which device. */
export async function readSnapshotNodes(
  tx: Runner,
  group: string,
  { cache, withFolders }: { readonly cache: NodeCache; readonly withFolders: boolean },
): Promise<readonly SnapshotNode[]> {
  const facts = await cachedFacts(tx, group, cache);
  const uses = await tx.rows<UseRow>(sql`
    SELECT u.node, u.cpu_milli_used AS "cpuMilli", u.memory_bytes_used AS "memoryBytes"
    FROM node_use u JOIN nodes n ON n.name = u.node
    WHERE n.group_name = ${group} AND (u.cpu_milli_used > 0 OR u.memory_bytes_used > 0)`);
  const useOf = new Map(uses.map(({ node, ...used }) => [node, used]));
  const holdsOf = await readHolds(tx, group);
  const foldersOf = withFolders ? await readFolders(tx, group) : new Map<string, string[]>();
  return facts.map((node) => {
    const used = useOf.get(node.name);
    const holds = holdsOf.get(node.name);
    if (used === undefined && holds === undefined) return node;
    const devices =
      holds === undefined ? node.devices : node.devices.map((device) => heldDevice(device, holds.get(device.id)));
    return { ...node, used: used ?? node.used, devices, folders: foldersOf.get(node.name) ?? node.folders };
  });
}

/** What the nodes are, without their use: for whether a request could ever run. */
export const readNodeFacts = cachedFacts;
