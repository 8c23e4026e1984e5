import { type SpanAsk, windowAt } from './earliest-on-line.js';
import type { View } from './line-profile.js';
import type { NodeLine } from './node-line.js';
import { kernelsHeld, type SpanUnit } from './span-ask.js';
import { profileIn, type Timeline } from './timeline.js';

/** Kernels that ask the same. */
export interface GangClass {
  readonly unit: SpanUnit;
  /** Places in the list of kernels. */
  readonly members: readonly number[];
}

export interface GangSearch {
  readonly timeline: Timeline;
  readonly mask: Uint8Array;
  readonly view: View;
  readonly ask: SpanAsk;
  readonly classes: readonly GangClass[];
}

/** How many kernels of each class each node holds for a window that starts at the moment looked at, and their sums. */
export interface GangCounts {
  readonly counts: readonly Float64Array[];
  readonly sums: number[];
}

/** Moments at which a window that starts then sees more of a node (`grows`), or after which it sees less (`shrinks`). */
export interface GangEvents {
  readonly grows: readonly { readonly atMs: number; readonly i: number }[];
  readonly shrinks: readonly { readonly atMs: number; readonly i: number }[];
}

export function countAt(
  { timeline, view, ask, classes }: GangSearch,
  to: GangCounts,
  { i, atMs }: { i: number; atMs: number },
): void {
  const line = timeline.lines[i] as NodeLine;
  const mayStart = atMs + ask.minMs <= line.leaveByMs;
  if (mayStart) windowAt({ line, profile: profileIn(timeline, view, i), row: timeline.row }, ask, atMs);
  for (const [c, { unit, members }] of classes.entries()) {
    const counts = to.counts[c] as Float64Array;
    const count = mayStart ? kernelsHeld(line, timeline.row, { unit, most: members.length }) : 0;
    to.sums[c] = (to.sums[c] as number) + count - (counts[i] as number);
    counts[i] = count;
  }
}

/** Counts of a first moment, over all nodes of the mask. */
export function countsAt(search: GangSearch, atMs: number): GangCounts {
  const size = search.mask.length;
  const counts = { counts: search.classes.map(() => new Float64Array(size)), sums: search.classes.map(() => 0) };
  for (let i = 0; i < size; i += 1) if (search.mask[i] === 1) countAt(search, counts, { i, atMs });
  return counts;
}

export function gangEvents({ timeline, mask, view, ask }: GangSearch, untilMs: number): GangEvents {
  const grows: { atMs: number; i: number }[] = [];
  const shrinks: { atMs: number; i: number }[] = [];
  const keep = (list: { atMs: number; i: number }[], atMs: number, i: number): void => {
    if (atMs >= ask.fromMs && atMs <= untilMs && Number.isFinite(atMs)) list.push({ atMs, i });
  };
  for (let i = 0; i < mask.length; i += 1) {
    if (mask[i] === 0) continue;
    const { timesMs, soft } = profileIn(timeline, view, i);
    for (const at of timesMs) {
      if (at > ask.fromMs) keep(grows, at, i);
      keep(shrinks, at - ask.maxMs, i);
      if (soft !== null) keep(shrinks, at - ask.minMs, i);
    }
    keep(shrinks, (timeline.lines[i] as NodeLine).leaveByMs - ask.minMs, i);
  }
  const byTime = (a: { atMs: number }, b: { atMs: number }): number => a.atMs - b.atMs;
  return { grows: grows.toSorted(byTime), shrinks: shrinks.toSorted(byTime) };
}
