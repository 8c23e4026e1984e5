import type { GroupPolicy } from '../contract/group.js';
import type { Unit } from './demand.js';
import { giveBackKernel, type KernelTake, type NodeTable, takeKernel } from './node-table.js';

/** The nodes of a table in the order in which the policy prefers them. */
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
}

/** The nodes that have the same kinds of resource, in rank order. */
export interface RankedList {
  readonly kinds: number;
  readonly nodes: Int32Array;
}

export const rankingOf = (table: NodeTable, policy: Pick<GroupPolicy, 'placement' | 'slotOrder'>): Ranking => ({
  table,
  placement: policy.placement,
  slotOrder: policy.slotOrder,
  order: policy.slotOrder.map((slot) => table[slot]),
  sign: policy.placement === 'dispersed' ? 1 : -1,
  lists: undefined,
});

/** Negative when node `a` comes before node `b`: by the policy's amounts, then by name. Only 0 for the same node. */
export function compareAmounts({ order, sign }: Ranking, a: number, b: number): number {
  for (let k = 0; k < order.length; k += 1) {
    const amounts = order[k] as Float64Array;
    const more = ((amounts[b] as number) - (amounts[a] as number)) * sign;
    if (more !== 0) return more;
  }
  return a - b;
}

/** How many kinds a set of bits names: cpu, memory, gpu. */
const COUNT_OF_KINDS = Uint8Array.from([0, 1, 1, 2, 1, 2, 2, 3]);

/** How many kinds of resource a node has that the unit does not use. */
export const extraKinds = (kindsOfNode: number, unit: Unit): number =>
  COUNT_OF_KINDS[kindsOfNode & ~unit.kinds] as number;

/** The whole rule: fewer unused kinds first, then the policy's amounts, then the name. */
export function compareNodes(ranking: Ranking, unit: Unit): (a: number, b: number) => number {
  const { kinds } = ranking.table;
  return (a, b) =>
    extraKinds(kinds[a] as number, unit) - extraKinds(kinds[b] as number, unit) || compareAmounts(ranking, a, b);
}

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

/** Takes a kernel's amounts and devices from node `i`, which moves in the ranking. Returns the devices' indices. */
export function take(ranking: Ranking, i: number, kernel: KernelTake): readonly number[] {
  const from = positionOf(ranking, i);
  const devices = takeKernel(ranking.table, i, kernel);
  move(ranking, i, from);
  return devices;
}

/** Undoes `take`, exactly. */
export function giveBack(ranking: Ranking, i: number, taken: Parameters<typeof giveBackKernel>[2]): void {
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
