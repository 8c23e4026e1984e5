import type { SlotName, Slots } from '../contract/slots.js';
import type { SnapshotNode } from '../contract/snapshot.js';
import { kindsOf, type Unit } from './demand.js';
import {
  bookedBytes,
  type DeviceRules,
  type DeviceTable,
  type DeviceView,
  deviceTable,
  MAY,
  refreshView,
  releasedDevices,
  type View,
} from './device-table.js';
import type { Locality } from './locality.js';
import { packShares } from './pack-devices.js';

export type { View } from './device-table.js';

/**
 * The nodes by name, and what is left on each in plain numeric arrays (millicores, bytes, devices), made once a pass:
 * a look at a candidate allocates nothing. The lower index wins a tie, which is the lower name.
 */
export interface NodeTable {
  readonly view: View;
  readonly rules: DeviceRules;
  readonly nodes: readonly SnapshotNode[];
  /** 1 where the node's state lets it take work in this view. */
  readonly open: Uint8Array;
  /** Kinds of resource that the node has at all, as bits. */
  readonly kinds: Uint8Array;
  readonly cpuMilli: Float64Array;
  readonly memoryBytes: Float64Array;
  /** Free devices that can be had whole. */
  readonly gpuCount: Float64Array;
  /** Memory that is left on the devices together. */
  readonly gpuMemoryBytes: Float64Array;
  readonly devices: DeviceTable;
  /** By model; '' is any model. */
  readonly views: Map<string, DeviceView>;
  readonly masks: Map<string, Uint8Array>;
  readonly localities: Map<string, Locality | null>;
  /** Milliseconds since 1970 for which it is looked at: what starts has to be gone in time from a node that moves. */
  atMs: number;
  /** Node indices by name; made when first asked for. */
  indices: ReadonlyMap<string, number> | undefined;
  /** When each node moves; made when first asked for, null when none does. */
  moves: Float64Array | null | undefined;
  capacities: Capacities | undefined;
}

/** All that a node has: its healthy devices, those that can be had whole counted. */
export type Capacities = Readonly<Record<SlotName, Float64Array>>;

const byName = (a: SnapshotNode, b: SnapshotNode): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

function sortedByName(nodes: readonly SnapshotNode[]): readonly SnapshotNode[] {
  for (let i = 1; i < nodes.length; i += 1) {
    if (byName(nodes[i - 1] as SnapshotNode, nodes[i] as SnapshotNode) > 0) return nodes.toSorted(byName);
  }
  return nodes;
}

/** A node that has registered but never reported has no capacity: it can hold nothing, and refuses nothing for ever. */
export const isKnown = (node: SnapshotNode): boolean => node.capacity.cpuMilli > 0;

export function nodeTable(
  nodesInAnyOrder: readonly SnapshotNode[],
  view: View,
  rules: DeviceRules = { allowUnenforcedSharing: false },
): NodeTable {
  const nodes = sortedByName(nodesInAnyOrder);
  return tableOf(nodes, deviceTable(nodes, view, rules), {
    view,
    rules: { allowUnenforcedSharing: rules.allowUnenforcedSharing },
    atMs: 0,
  });
}

/** The nodes of a table of view `now` with all released, for the same moment. */
export function releasedTable({ nodes, devices, rules, atMs }: NodeTable, view: Exclude<View, 'now'>): NodeTable {
  return tableOf(nodes, releasedDevices(devices, nodes, { view, rules }), { view, rules, atMs });
}

function tableOf(
  nodes: readonly SnapshotNode[],
  devices: DeviceTable,
  facts: Pick<NodeTable, 'view' | 'rules' | 'atMs'>,
): NodeTable {
  const size = nodes.length;
  const table: NodeTable = {
    ...facts,
    nodes,
    open: new Uint8Array(size),
    kinds: new Uint8Array(size),
    cpuMilli: new Float64Array(size),
    memoryBytes: new Float64Array(size),
    gpuCount: new Float64Array(size),
    gpuMemoryBytes: new Float64Array(size),
    devices,
    views: new Map(),
    masks: new Map(),
    localities: new Map(),
    indices: undefined,
    moves: undefined,
    capacities: undefined,
  };
  const anyModel = { model: -1, whole: table.gpuCount, share: new Float64Array(size) };
  table.views.set('', anyModel);
  for (let i = 0; i < size; i += 1) {
    fillRow(table, i, nodes[i] as SnapshotNode);
    table.gpuMemoryBytes[i] = memoryLeft(devices, i);
    refreshView(devices, anyModel, i);
  }
  return table;
}

function fillRow(table: NodeTable, i: number, { capacity, used, devices, state }: SnapshotNode): void {
  const released = table.view !== 'now';
  table.open[i] = (table.view === 'ever' ? capacity.cpuMilli > 0 : state === 'READY') ? 1 : 0;
  table.kinds[i] = kindsOf(capacity.cpuMilli, capacity.memoryBytes, devices.length);
  table.cpuMilli[i] = capacity.cpuMilli - (released ? 0 : used.cpuMilli);
  table.memoryBytes[i] = capacity.memoryBytes - (released ? 0 : used.memoryBytes);
}

function memoryLeft({ start, leftBytes, may }: DeviceTable, i: number): number {
  const end = start[i + 1] as number;
  let bytes = 0;
  for (let d = start[i] as number; d < end; d += 1) {
    const left = leftBytes[d] as number;
    if (left > 0 && may[d] !== 0) bytes += left;
  }
  return bytes;
}

/** After devices of node `i` changed. */
function refreshNode({ devices, gpuMemoryBytes, views }: NodeTable, i: number): void {
  gpuMemoryBytes[i] = memoryLeft(devices, i);
  for (const view of views.values()) refreshView(devices, view, i);
}

export function capacitiesOf(table: NodeTable): Capacities {
  if (table.capacities !== undefined) return table.capacities;
  const { nodes, devices } = table;
  const gpuCount = new Float64Array(nodes.length);
  const gpuMemoryBytes = new Float64Array(nodes.length);
  for (let i = 0; i < nodes.length; i += 1) {
    for (let d = devices.start[i] as number; d < (devices.start[i + 1] as number); d += 1) {
      const may = devices.may[d] as number;
      if ((may & MAY.whole) !== 0) gpuCount[i] = (gpuCount[i] as number) + 1;
      if (may !== 0) gpuMemoryBytes[i] = (gpuMemoryBytes[i] as number) + (devices.memoryBytes[d] as number);
    }
  }
  table.capacities = {
    cpuMilli: Float64Array.from(nodes, ({ capacity }) => capacity.cpuMilli),
    memoryBytes: Float64Array.from(nodes, ({ capacity }) => capacity.memoryBytes),
    gpuCount,
    gpuMemoryBytes,
  };
  return table.capacities;
}

/** The node's place in the table, or -1. */
export function indexOfNode(table: NodeTable, name: string): number {
  table.indices ??= new Map(table.nodes.map((node, i) => [node.name, i]));
  return table.indices.get(name) ?? -1;
}

/** What requests that pin the model (null: none) find on each node. */
export function deviceViewOf(table: NodeTable, gpuModel: string | null): DeviceView {
  const known = table.views.get(gpuModel ?? '');
  if (known !== undefined) return known;
  const size = table.nodes.length;
  const model = table.devices.modelNumbers.get(gpuModel as string) ?? -2;
  const view = { model, whole: new Float64Array(size), share: new Float64Array(size) };
  for (let i = 0; i < size; i += 1) refreshView(table.devices, view, i);
  table.views.set(gpuModel as string, view);
  return view;
}

/** Open nodes that the request's architecture allows. */
export function openNodesOf(table: NodeTable, architecture: string | null): Uint8Array {
  if (architecture === null) return table.open;
  const known = table.masks.get(architecture);
  if (known !== undefined) return known;
  const mask = table.open.map((open, i) => (table.nodes[i]?.architecture === architecture ? open : 0));
  table.masks.set(architecture, mask);
  return mask;
}

/** What one kernel takes of a node: its amounts, and devices by their place on the node. */
export interface KernelTake {
  readonly slots: Readonly<Slots>;
  readonly devices: readonly number[];
}

/** Takes a kernel's amounts and the devices that were chosen for it. The caller has checked that they fit. */
export const takeKernel = (table: NodeTable, i: number, kernel: KernelTake): void => book(table, i, kernel, -1);

/** Undoes `takeKernel`, exactly: amounts are integers. */
export const giveBackKernel = (table: NodeTable, i: number, kernel: KernelTake): void => book(table, i, kernel, 1);

function book(table: NodeTable, i: number, ...[{ slots, devices }, sign]: readonly [KernelTake, 1 | -1]): void {
  table.cpuMilli[i] = (table.cpuMilli[i] as number) + sign * slots.cpuMilli;
  table.memoryBytes[i] = (table.memoryBytes[i] as number) + sign * slots.memoryBytes;
  if (devices.length === 0) return;
  const { start, leftBytes } = table.devices;
  for (const each of devices) {
    const d = (start[i] as number) + each;
    const bytes = bookedBytes(table.devices, d, slots.gpuMemoryBytes);
    leftBytes[d] = (leftBytes[d] as number) + sign * bytes;
  }
  refreshNode(table, i);
}

/** What is looked for on a node. */
export interface Sought {
  readonly unit: Unit;
  readonly free: DeviceView;
}

/** Whether what is left on node `i` holds the unit, device by device. */
export const holds = (table: NodeTable, i: number, { unit, free }: Sought): boolean =>
  (free.whole[i] as number) >= unit.gpuCount &&
  (free.share[i] as number) >= unit.gpuMemoryBytes &&
  (table.cpuMilli[i] as number) >= unit.cpuMilli &&
  (table.memoryBytes[i] as number) >= unit.memoryBytes &&
  (unit.isSimple || packShares(table.devices, i, { unit, model: free.model }) === 'fits');
