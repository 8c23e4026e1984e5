import type { PlacedKernel } from '../contract/plan.js';
import type { SnapshotKernel, SnapshotPending } from '../contract/snapshot.js';
import { type SpanAsk, windowAt } from './earliest-on-line.js';
import { countAt, countsAt, type GangClass, type GangCounts, type GangSearch, gangEvents } from './gang-counts.js';
import type { View } from './line-profile.js';
import type { NodeLine } from './node-line.js';
import { seatGang } from './seat-gang.js';
import { spanUnitOf, type WindowRow } from './span-ask.js';
import { profileIn, type Timeline } from './timeline.js';

export interface GangSeeker {
  readonly session: SnapshotPending;
  readonly mask: Uint8Array;
  readonly ask: SpanAsk;
  readonly view: View;
  readonly gpuModel: string | null;
}

/** `kernels` is null when there is no start up to the limit; `atMs` is then a lower bound. */
export interface GangStart {
  readonly atMs: number;
  readonly kernels: readonly PlacedKernel[] | null;
}

/**
 * The earliest moment from which the kernels together have room on several nodes. The moments at which any node has more
 * room are tried in order; between two of them only the nodes that changed are counted again.
 */
export function earliestGang(timeline: Timeline, seeker: GangSeeker, limitMs: number): GangStart {
  const { session, mask, ask, view, gpuModel } = seeker;
  const search: GangSearch = { timeline, mask, view, ask, classes: gangClasses(session.kernels, gpuModel) };
  const counts = countsAt(search, ask.fromMs);
  const first = seatAt(search, counts, { session, gpuModel, atMs: ask.fromMs });
  if (first !== null) return { atMs: ask.fromMs, kernels: first };
  if (limitMs <= ask.fromMs) return { atMs: ask.fromMs, kernels: null };
  const { grows, shrinks } = gangEvents(search, limitMs);
  let grown = 0;
  let shrunk = 0;
  while (grown < grows.length) {
    const { atMs } = grows[grown] as (typeof grows)[number];
    const changed = new Set<number>();
    for (; grown < grows.length && grows[grown]?.atMs === atMs; grown += 1) changed.add(grows[grown]?.i as number);
    for (; shrunk < shrinks.length && (shrinks[shrunk]?.atMs as number) < atMs; shrunk += 1)
      changed.add(shrinks[shrunk]?.i as number);
    for (const i of changed) countAt(search, counts, { i, atMs });
    const kernels = seatAt(search, counts, { session, gpuModel, atMs });
    if (kernels !== null) return { atMs, kernels };
  }
  return { atMs: limitMs, kernels: null };
}

/** The hardest to place first. */
function gangClasses(kernels: readonly SnapshotKernel[], gpuModel: string | null): readonly GangClass[] {
  const classes = new Map<string, { unit: GangClass['unit']; members: number[] }>();
  for (const [k, kernel] of kernels.entries()) {
    const { gpuCount, gpuMemoryBytes, cpuMilli, memoryBytes } = kernel.slots;
    const key = `${gpuCount},${gpuMemoryBytes},${cpuMilli},${memoryBytes}`;
    const known = classes.get(key);
    if (known === undefined) classes.set(key, { unit: spanUnitOf([kernel], gpuModel), members: [k] });
    else known.members.push(k);
  }
  const shareOf = ({ unit }: GangClass): number => unit.shares[0] ?? 0;
  return [...classes.values()].toSorted(
    (a, b) =>
      b.unit.gpuCount - a.unit.gpuCount ||
      shareOf(b) - shareOf(a) ||
      b.unit.cpuMilli - a.unit.cpuMilli ||
      b.unit.memoryBytes - a.unit.memoryBytes,
  );
}

interface SeatQuestion {
  readonly session: SnapshotPending;
  readonly gpuModel: string | null;
  readonly atMs: number;
}

function seatAt(
  search: GangSearch,
  { counts, sums }: GangCounts,
  { session, gpuModel, atMs }: SeatQuestion,
): readonly PlacedKernel[] | null {
  const { classes, timeline, view, ask } = search;
  if (classes.some(({ members }, c) => (sums[c] as number) < members.length)) return null;
  const rowOf = (i: number): WindowRow => {
    const line = timeline.lines[i] as NodeLine;
    const row = { cpuMilli: 0, memoryBytes: 0, free: new Float64Array(line.free.length) };
    windowAt({ line, profile: profileIn(timeline, view, i), row }, ask, atMs);
    return row;
  };
  return seatGang({ lines: timeline.lines, classes, counts, rowOf, kernels: session.kernels, gpuModel });
}
