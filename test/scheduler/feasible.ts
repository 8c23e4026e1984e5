import type { Slots } from '../../src/contract/slots.js';
import type { SnapshotDevice, SnapshotNode, SnapshotPending } from '../../src/contract/snapshot.js';

/**
 * The rules of room in the most obvious form: every kernel on every node, every share on every device, every choice of
 * whole devices. Slow on purpose; for a handful of kernels and devices. It knows no order of preference.
 */
export interface Rules {
  readonly allowUnenforcedSharing: boolean;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

interface Bin {
  readonly device: SnapshotDevice;
  left: number;
}

interface Room {
  readonly node: SnapshotNode;
  cpuMilli: number;
  memoryBytes: number;
  readonly bins: Bin[];
}

const promised = ({ heldBy, shares, memoryBytes, sharing }: SnapshotDevice): number =>
  (heldBy === null ? 0 : memoryBytes) +
  shares.reduce((sum, share) => sum + (sharing === 'mig' ? memoryBytes : share.memoryBytes), 0);

export const roomsOf = (nodes: readonly SnapshotNode[]): Room[] =>
  nodes
    .filter(({ state }) => state === 'READY')
    .map((node) => ({
      node,
      cpuMilli: node.capacity.cpuMilli - node.used.cpuMilli,
      memoryBytes: node.capacity.memoryBytes - node.used.memoryBytes,
      bins: node.devices
        .filter(({ healthy }) => healthy)
        .map((device) => ({ device, left: device.memoryBytes - promised(device) })),
    }));

/** Whether the session's wishes, its architecture and a move let it be on the node at all, while it is READY. */
export function mayBeOn(session: SnapshotPending, node: SnapshotNode, { atMs }: Rules): boolean {
  const { wishes } = session;
  if (session.architecture !== null && session.architecture !== node.architecture) return false;
  if (wishes.nodesRequired && !wishes.nodes.includes(node.name)) return false;
  if (wishes.zoneRequired && wishes.zone !== null && wishes.zone !== node.zone) return false;
  const goneMs = atMs + 1000 * (session.minRuntimeSeconds + session.gracePeriodSeconds);
  return node.moveAt === null || goneMs <= Date.parse(node.moveAt);
}

/** Whether all kernels find room at once on these nodes: on one of them, or (multi-node) anywhere. */
export function isFeasible(session: SnapshotPending, nodes: readonly SnapshotNode[], rules: Rules): boolean {
  const kernels = session.kernels.map(({ slots }) => slots);
  if (kernels.some(({ gpuCount, gpuMemoryBytes }) => gpuCount > 0 && gpuMemoryBytes > 0)) return false;
  const rooms = roomsOf(nodes.filter((node) => mayBeOn(session, node, rules)));
  const look = { rules, gpuModel: session.gpuModel };
  return session.clusterMode === 'multi-node'
    ? put(kernels, rooms, look)
    : rooms.some((room) => put(kernels, [room], look));
}

interface Look {
  readonly rules: Rules;
  readonly gpuModel: string | null;
}

function put(kernels: readonly Slots[], rooms: readonly Room[], look: Look): boolean {
  const [kernel, ...rest] = kernels;
  if (kernel === undefined) return true;
  for (const room of rooms) {
    if (room.cpuMilli < kernel.cpuMilli || room.memoryBytes < kernel.memoryBytes) continue;
    for (const taken of choices(kernel, room, look)) {
      room.cpuMilli -= kernel.cpuMilli;
      room.memoryBytes -= kernel.memoryBytes;
      for (const { bin, bytes } of taken) bin.left -= bytes;
      const fits = put(rest, rooms, look);
      room.cpuMilli += kernel.cpuMilli;
      room.memoryBytes += kernel.memoryBytes;
      for (const { bin, bytes } of taken) bin.left += bytes;
      if (fits) return true;
    }
  }
  return false;
}

type Taken = readonly { readonly bin: Bin; readonly bytes: number }[];

function choices(kernel: Slots, room: Room, { rules, gpuModel }: Look): Taken[] {
  const bins = room.bins.filter(({ device }) => gpuModel === null || device.model === gpuModel);
  if (kernel.gpuMemoryBytes > 0) {
    return bins
      .filter(({ device, left }) => takesShare(device, left, { bytes: kernel.gpuMemoryBytes, rules }))
      .map((bin) => [{ bin, bytes: bin.device.sharing === 'mig' ? bin.device.memoryBytes : kernel.gpuMemoryBytes }]);
  }
  const free = bins.filter(({ device, left }) => device.sharing !== 'mig' && left === device.memoryBytes);
  return subsets(free, kernel.gpuCount).map((some) => some.map((bin) => ({ bin, bytes: bin.left })));
}

function takesShare(
  device: SnapshotDevice,
  left: number,
  { bytes, rules }: { readonly bytes: number; readonly rules: Rules },
): boolean {
  if (left < bytes || (device.sharing === 'none' && !rules.allowUnenforcedSharing)) return false;
  return device.sharing !== 'mig' || left === device.memoryBytes;
}

function subsets<Item>(items: readonly Item[], size: number): Item[][] {
  if (size === 0) return [[]];
  return items.flatMap((item, k) => subsets(items.slice(k + 1), size - 1).map((rest) => [item, ...rest]));
}
