import type { GroupPolicy } from '../contract/group.js';
import type { Slots } from '../contract/slots.js';
import type { SnapshotRunning } from '../contract/snapshot.js';
import { replicaKeyOf, type Unit } from './demand.js';
import { giveBackKernel, indexOfNode, type KernelTake, type NodeTable, takeKernel } from './node-table.js';
import { shareDevice, wholeDevices } from './pack-devices.js';

/** The nodes of a table in the order in which the policy prefers them, at one moment. */
export interface Ranking {
  readonly table: NodeTable;
  readonly placement: GroupPolicy['placement'];
  readonly slotOrder: GroupPolicy['slotOrder'];
  /** The amounts left, slot by slot, compared left to right. */
  readonly order: readonly Float64Array[];
  /** 1: the most left first (dispersed). -1: the least left first (concentrated). */
  readonly sign: 1 | -1;
  /** Made when first asked for, then kept in order by `take` and `giveBack`: a move is a binary search and one copy. */
  lists: readonly RankedList[] | undefined;
  /** It is asked once or twice and thrown away: its nodes are compared instead of sorted, for a request for one node. */
  readonly isScratch?: boolean;
  /** Sessions of each replica group per node. */
  readonly replicas: Map<string, Float64Array>;
  /** The same nodes with all released; made when first asked for. */
  idle: Ranking | undefined;
}

/** The nodes that have the same kinds of resource, in rank order. */
export interface RankedList {
  readonly kinds: number;
  readonly nodes: Int32Array;
}

/** What else decides on a node: the moment (milliseconds since 1970; the table gets it), and who runs where. */
export interface Around {
  readonly atMs?: number;
  readonly running?: readonly Pick<SnapshotRunning, 'projectId' | 'replicaGroup' | 'kernels'>[];
}

export function rankingOf(
  table: NodeTable,
  policy: Pick<GroupPolicy, 'placement' | 'slotOrder'>,
  { atMs, running = [] }: Around = {},
): Ranking {
  if (atMs !== undefined) table.atMs = atMs;
  const { placement, slotOrder } = policy;
  return {
    table,
    placement,
    slotOrder,
    order: slotOrder.map((slot) => table[slot]),
    sign: placement === 'dispersed' ? 1 : -1,
    lists: undefined,
    replicas: replicasOf(table, running),
    idle: undefined,
  };
}

function replicasOf(table: NodeTable, running: NonNullable<Around['running']>): Map<string, Float64Array> {
  const replicas = new Map<string, Float64Array>();
  for (const { projectId, replicaGroup, kernels } of running) {
    if (replicaGroup === null) continue;
    const counts = replicaCounts(replicas, table, replicaKeyOf(projectId, replicaGroup));
    for (const name of new Set(kernels.map(({ node }) => node))) {
      const i = indexOfNode(table, name);
      if (i >= 0) counts[i] = (counts[i] as number) + 1;
    }
  }
  return replicas;
}

export function replicaCounts(replicas: Ranking['replicas'], table: NodeTable, key: string): Float64Array {
  let counts = replicas.get(key);
  if (counts === undefined) {
    counts = new Float64Array(table.nodes.length);
    replicas.set(key, counts);
  }
  return counts;
}

/** Negative when node `a` comes before node `b`: by the policy's amounts, then by name. Only 0 for the same node. */
export const compareAmounts = (ranking: Ranking, a: number, b: number): number => compareLeft(ranking, a, b) || a - b;

/** The same without the name: 0 where all amounts are equal. */
export function compareLeft({ order, sign }: Ranking, a: number, b: number): number {
  for (let k = 0; k < order.length; k += 1) {
    const amounts = order[k] as Float64Array;
    const more = ((amounts[b] as number) - (amounts[a] as number)) * sign;
    if (more !== 0) return more;
  }
  return 0;
}

/** How many kinds a set of bits names: cpu, memory, gpu. */
const COUNT_OF_KINDS = Uint8Array.from([0, 1, 1, 2, 1, 2, 2, 3]);

/** How many kinds of resource a node has that the unit does not use. */
export const extraKinds = (kindsOfNode: number, unit: Pick<Unit, 'kinds'>): number =>
  COUNT_OF_KINDS[kindsOfNode & ~unit.kinds] as number;

export function rankedLists(ranking: Ranking): readonly RankedList[] {
  if (ranking.lists !== undefined) return ranking.lists;
  const byKinds = new Map<number, number[]>();
  for (const [i, kinds] of ranking.table.kinds.entries()) {
    const known = byKinds.get(kinds);
    if (known === undefined) byKinds.set(kinds, [i]);
    else known.push(i);
  }
  const compare = (a: number, b: number): number => compareAmounts(ranking, a, b);
  ranking.lists = [...byKinds].map(([kinds, nodes]) => ({ kinds, nodes: Int32Array.from(nodes.toSorted(compare)) }));
  return ranking.lists;
}

/** Takes a kernel's amounts and devices from node `i`, which moves in the ranking. Returns the devices' places. The caller has checked that it fits. */
export function take(
  ranking: Ranking,
  i: number,
  kernel: { readonly slots: Readonly<Slots>; readonly gpuModel: string | null },
): readonly number[] {
  const { slots, gpuModel } = kernel;
  const { devices: all } = ranking.table;
  const model = gpuModel === null ? -1 : (all.modelNumbers.get(gpuModel) ?? -2);
  let devices: readonly number[] = [];
  if (slots.gpuCount > 0) devices = wholeDevices(all, i, { model, count: slots.gpuCount }) ?? [];
  else if (slots.gpuMemoryBytes > 0) devices = [shareDevice(all, i, { model, bytes: slots.gpuMemoryBytes })];
  takeOn(ranking, i, { slots, devices });
  return devices;
}

/** Takes a kernel's amounts and exactly these devices, by their places on node `i`. */
export function takeOn(ranking: Ranking, i: number, kernel: KernelTake): void {
  const from = positionOf(ranking, i);
  takeKernel(ranking.table, i, kernel);
  move(ranking, i, from);
}

/** Undoes `take`, exactly. */
export function giveBack(ranking: Ranking, i: number, taken: KernelTake): void {
  const from = positionOf(ranking, i);
  giveBackKernel(ranking.table, i, taken);
  move(ranking, i, from);
}

const listOf = ({ lists, table }: Ranking, i: number): Int32Array | undefined =>
  lists?.find(({ kinds }) => kinds === table.kinds[i])?.nodes;

function positionOf(ranking: Ranking, i: number): number {
  const nodes = listOf(ranking, i);
  return nodes === undefined ? -1 : firstNotBefore(ranking, nodes, { node: i, from: 0, to: nodes.length });
}

/** After its amounts changed, node `i` goes from its old position to where it belongs now. */
function move(ranking: Ranking, i: number, from: number): void {
  const nodes = listOf(ranking, i);
  if (nodes === undefined) return;
  const isLater = from + 1 < nodes.length && compareAmounts(ranking, nodes[from + 1] as number, i) < 0;
  if (isLater) {
    const to = firstNotBefore(ranking, nodes, { node: i, from: from + 1, to: nodes.length });
    nodes.copyWithin(from, from + 1, to);
    nodes[to - 1] = i;
    return;
  }
  const to = firstNotBefore(ranking, nodes, { node: i, from: 0, to: from });
  nodes.copyWithin(to + 1, to, from);
  nodes[to] = i;
}

/** The first position in from..to whose node does not come before the given one. */
function firstNotBefore(
  ranking: Ranking,
  nodes: Int32Array,
  range: { readonly node: number; readonly from: number; readonly to: number },
): number {
  let { from, to } = range;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (compareAmounts(ranking, nodes[middle] as number, range.node) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
