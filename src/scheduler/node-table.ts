import type { Slots } from '../contract/slots.js';
import type { SnapshotDevice, SnapshotNode } from '../contract/snapshot.js';
import { kindsOf, type Unit } from './demand.js';

/**
 * `now`: READY nodes with what is left. `empty`: READY nodes as if all were released, healthy devices only.
 * `ever`: every node that ever reported a capacity, with all of it, broken devices too (they can be mended).
 */
export type View = 'now' | 'empty' | 'ever';

/**
 * The nodes by name, and what is left on each in plain numeric arrays (millicores, bytes, devices), made once a pass:
 * a look at a candidate allocates nothing. The lower index wins a tie, which is the lower name.
 */
export interface NodeTable {
  readonly view: View;
  readonly nodes: readonly SnapshotNode[];
  /** 1 where the node's state lets it take work in this view. */
  readonly open: Uint8Array;
  /** Kinds of resource that the node has at all, as bits. */
  readonly kinds: Uint8Array;
  readonly cpuMilli: Float64Array;
  readonly memoryBytes: Float64Array;
  readonly gpuCount: Float64Array;
  /** Memory of the free devices together. */
  readonly gpuMemoryBytes: Float64Array;
  /** Per node 1 for each free device; made when the node is first taken from. */
  readonly freeDevices: (Uint8Array | undefined)[];
  readonly freeByModel: Map<string, Float64Array>;
  readonly openByArchitecture: Map<string, Uint8Array>;
}

const byName = (a: SnapshotNode, b: SnapshotNode): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

function sortedByName(nodes: readonly SnapshotNode[]): readonly SnapshotNode[] {
  for (let i = 1; i < nodes.length; i += 1) {
    if (byName(nodes[i - 1] as SnapshotNode, nodes[i] as SnapshotNode) > 0) return nodes.toSorted(byName);
  }
  return nodes;
}

/** A node that has registered but never reported has no capacity: it can hold nothing, and refuses nothing for ever. */
export const isKnown = (node: SnapshotNode): boolean => node.capacity.cpuMilli > 0;

const deviceIsFree = (view: View, device: SnapshotDevice): boolean =>
  view === 'ever' || (device.healthy && (view === 'empty' || device.heldBy === null));

export function nodeTable(nodesInAnyOrder: readonly SnapshotNode[], view: View): NodeTable {
  const nodes = sortedByName(nodesInAnyOrder);
  const size = nodes.length;
  const table: NodeTable = {
    view,
    nodes,
    open: new Uint8Array(size),
    kinds: new Uint8Array(size),
    cpuMilli: new Float64Array(size),
    memoryBytes: new Float64Array(size),
    gpuCount: new Float64Array(size),
    gpuMemoryBytes: new Float64Array(size),
    freeDevices: new Array<Uint8Array | undefined>(size).fill(undefined),
    freeByModel: new Map(),
    openByArchitecture: new Map(),
  };
  for (let i = 0; i < size; i += 1) fillRow(table, i, nodes[i] as SnapshotNode);
  return table;
}

function fillRow(table: NodeTable, i: number, node: SnapshotNode): void {
  const released = table.view !== 'now';
  table.open[i] = (table.view === 'ever' ? isKnown(node) : node.state === 'READY') ? 1 : 0;
  table.kinds[i] = kindsOf(node.capacity.cpuMilli, node.capacity.memoryBytes, node.devices.length);
  table.cpuMilli[i] = node.capacity.cpuMilli - (released ? 0 : node.used.cpuMilli);
  table.memoryBytes[i] = node.capacity.memoryBytes - (released ? 0 : node.used.memoryBytes);
  let count = 0;
  let bytes = 0;
  for (const device of node.devices) {
    if (!deviceIsFree(table.view, device)) continue;
    count += 1;
    bytes += device.memoryBytes;
  }
  table.gpuCount[i] = count;
  table.gpuMemoryBytes[i] = bytes;
}

/** Free devices that the request may take: all, or those of its model. Kept up to date by take and give back. */
export function freeDevicesOf(table: NodeTable, gpuModel: string | null): Float64Array {
  if (gpuModel === null) return table.gpuCount;
  const known = table.freeByModel.get(gpuModel);
  if (known !== undefined) return known;
  const counts = new Float64Array(table.nodes.length);
  for (let i = 0; i < table.nodes.length; i += 1) {
    const free = table.freeDevices[i];
    for (const [d, device] of (table.nodes[i] as SnapshotNode).devices.entries()) {
      const isFree = free === undefined ? deviceIsFree(table.view, device) : free[d] === 1;
      if (isFree && device.model === gpuModel) counts[i] = (counts[i] as number) + 1;
    }
  }
  table.freeByModel.set(gpuModel, counts);
  return counts;
}

/** Open nodes that the request's architecture allows. */
export function openNodesOf(table: NodeTable, architecture: string | null): Uint8Array {
  if (architecture === null) return table.open;
  const known = table.openByArchitecture.get(architecture);
  if (known !== undefined) return known;
  const mask = table.open.map((open, i) => (table.nodes[i]?.architecture === architecture ? open : 0));
  table.openByArchitecture.set(architecture, mask);
  return mask;
}

/** Takes a kernel's amounts and its devices (the first free ones by index, of the model when pinned). The caller has checked that they fit. */
export function takeKernel(table: NodeTable, i: number, kernel: KernelTake): readonly number[] {
  table.cpuMilli[i] = (table.cpuMilli[i] as number) - kernel.slots.cpuMilli;
  table.memoryBytes[i] = (table.memoryBytes[i] as number) - kernel.slots.memoryBytes;
  const devices: number[] = [];
  if (kernel.slots.gpuCount === 0) return devices;
  const node = table.nodes[i] as SnapshotNode;
  const free = (table.freeDevices[i] ??= freeMarks(table.view, node));
  for (let d = 0; d < free.length && devices.length < kernel.slots.gpuCount; d += 1) {
    if (free[d] === 0 || (kernel.gpuModel !== null && node.devices[d]?.model !== kernel.gpuModel)) continue;
    setDevice(table, { node: i, device: d }, 0);
    devices.push(d);
  }
  return devices;
}

function freeMarks(view: View, { devices }: SnapshotNode): Uint8Array {
  const marks = new Uint8Array(devices.length);
  for (let d = 0; d < devices.length; d += 1) marks[d] = deviceIsFree(view, devices[d] as SnapshotDevice) ? 1 : 0;
  return marks;
}

export interface KernelTake {
  readonly slots: Readonly<Slots>;
  readonly gpuModel: string | null;
}

/** Undoes `takeKernel`, exactly: amounts are integers. */
export function giveBackKernel(
  table: NodeTable,
  i: number,
  taken: { slots: Readonly<Slots>; devices: readonly number[] },
): void {
  table.cpuMilli[i] = (table.cpuMilli[i] as number) + taken.slots.cpuMilli;
  table.memoryBytes[i] = (table.memoryBytes[i] as number) + taken.slots.memoryBytes;
  for (const d of taken.devices) setDevice(table, { node: i, device: d }, 1);
}

/** Marks one device free (1) or taken (0) and keeps the counts. */
function setDevice(table: NodeTable, at: { readonly node: number; readonly device: number }, free: 0 | 1): void {
  const { node: i, device: d } = at;
  const device = table.nodes[i]?.devices[d] as SnapshotDevice;
  (table.freeDevices[i] as Uint8Array)[d] = free;
  const sign = free === 1 ? 1 : -1;
  table.gpuCount[i] = (table.gpuCount[i] as number) + sign;
  table.gpuMemoryBytes[i] = (table.gpuMemoryBytes[i] as number) + sign * device.memoryBytes;
  const ofModel = table.freeByModel.get(device.model);
  if (ofModel !== undefined) ofModel[i] = (ofModel[i] as number) + sign;
}

/** Whether what is left on node `i` holds the unit; `gpu` counts the devices that the request may take. */
export const holds = (
  table: NodeTable,
  i: number,
  wanted: { readonly unit: Unit; readonly gpu: Float64Array },
): boolean =>
  (wanted.gpu[i] as number) >= wanted.unit.gpuCount &&
  (table.cpuMilli[i] as number) >= wanted.unit.cpuMilli &&
  (table.memoryBytes[i] as number) >= wanted.unit.memoryBytes;
