import type { PlacedKernel } from '../contract/plan.js';
import type { SnapshotKernel } from '../contract/snapshot.js';
import type { GangClass } from './gang-counts.js';
import type { NodeLine } from './node-line.js';
import { seatKernels } from './seat-kernels.js';
import { rowHolds, spanUnitOf, type WindowRow } from './span-ask.js';

export interface GangSeats {
  readonly lines: readonly NodeLine[];
  /** The hardest to place first. */
  readonly classes: readonly GangClass[];
  /** Per class, how many of its kernels each node holds when it holds nothing else. */
  readonly counts: readonly Float64Array[];
  /** A new row with what each node has. */
  readonly rowOf: (i: number) => WindowRow;
  readonly kernels: readonly SnapshotKernel[];
  readonly gpuModel: string | null;
}

/** Fillings that are tried for kernels of several kinds before it counts as no room. */
const TRIES_MAX = 2_000;

/**
 * Nodes and devices for every kernel, the nodes that hold most first. Kernels of one kind find room whenever there is
 * any. Of several kinds, each is placed where the others leave it room, with a bounded search: null may then mean that
 * an assignment was not found in time, and the start is looked for later than it could be.
 */
export function seatGang(gang: GangSeats): readonly PlacedKernel[] | null {
  const perNode = gang.classes.length === 1 ? fillOneKind(gang) : fillSeveralKinds(gang);
  if (perNode === null) return null;
  const seats = new Map<string, PlacedKernel>();
  for (const [i, members] of perNode) {
    const kernels = members.map((k) => gang.kernels[k] as SnapshotKernel);
    const seated = seatKernels(gang.lines[i] as NodeLine, gang.rowOf(i), { kernels, gpuModel: gang.gpuModel });
    for (const seat of seated) seats.set(seat.kernelId, seat);
  }
  return gang.kernels.map(({ id }) => seats.get(id) as PlacedKernel);
}

type PerNode = ReadonlyMap<number, readonly number[]>;

/** Nodes that hold some of the class, those with most first; ties by name. */
const nodesFor = (counts: Float64Array): readonly number[] =>
  Array.from(counts.keys())
    .filter((i) => (counts[i] as number) > 0)
    .toSorted((a, b) => (counts[b] as number) - (counts[a] as number) || a - b);

function fillOneKind({ classes, counts }: GangSeats): PerNode {
  const [{ members }] = classes as [GangClass];
  const [held] = counts as [Float64Array];
  const perNode = new Map<number, readonly number[]>();
  let next = 0;
  for (const i of nodesFor(held)) {
    if (next === members.length) break;
    const some = members.slice(next, next + (held[i] as number));
    perNode.set(i, some);
    next += some.length;
  }
  return perNode;
}

/** Depth first, kernel by kernel in class order; kernels of a class go to nodes in one direction, as they are alike. */
function fillSeveralKinds(gang: GangSeats): PerNode | null {
  const { classes, counts, kernels, gpuModel, lines } = gang;
  const rows = new Map<number, WindowRow>();
  const perNode = new Map<number, number[]>();
  const orders = counts.map(nodesFor);
  const queue = classes.flatMap(({ members }, c) => members.map((k, m) => ({ k, c, isFirst: m === 0 })));
  let tries = 0;
  const holdsWith = (i: number, k: number): boolean => {
    const row = rows.get(i) ?? gang.rowOf(i);
    rows.set(i, row);
    const all = [...(perNode.get(i) ?? []), k].map((member) => kernels[member] as SnapshotKernel);
    return rowHolds(lines[i] as NodeLine, row, spanUnitOf(all, gpuModel));
  };
  const place = (q: number, from: number): boolean => {
    const entry = queue[q];
    if (entry === undefined) return true;
    const order = orders[entry.c] as readonly number[];
    for (let n = entry.isFirst ? 0 : from; n < order.length; n += 1) {
      tries += 1;
      if (tries > TRIES_MAX) return false;
      const i = order[n] as number;
      if (!holdsWith(i, entry.k)) continue;
      const members = perNode.get(i) ?? [];
      perNode.set(i, [...members, entry.k]);
      if (place(q + 1, n)) return true;
      perNode.set(i, members);
    }
    return false;
  };
  if (!place(0, 0)) return null;
  return new Map([...perNode].filter(([, members]) => members.length > 0));
}
