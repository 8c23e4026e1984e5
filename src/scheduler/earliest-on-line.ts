import type { Profile } from './line-profile.js';
import type { NodeLine } from './node-line.js';
import { rowHolds, type SpanUnit, type WindowRow } from './span-ask.js';

/** Room for a unit, from some moment at `fromMs` or later, for `maxMs`. */
export interface SpanAsk {
  readonly unit: SpanUnit;
  readonly fromMs: number;
  /** How long the room is needed at most; Infinity without a bound. */
  readonly maxMs: number;
  /** After that, those who may stop it have their room: soft takes that begin later are not in its way. */
  readonly minMs: number;
}

/** A row to work in, wide enough for every node. */
export const windowRow = (devices: number): WindowRow => ({
  cpuMilli: 0,
  memoryBytes: 0,
  free: new Float64Array(devices),
});

/** The segment in which the moment lies; 0 for one before the first. */
export function segmentAt({ timesMs, size }: Pick<Profile, 'timesMs' | 'size'>, ms: number): number {
  let from = 0;
  let to = size;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((timesMs[middle] as number) <= ms) from = middle + 1;
    else to = middle;
  }
  return Math.max(0, from - 1);
}

/** Narrows the row to what is left in segment `s` too. */
function narrow(
  row: WindowRow,
  at: { readonly amounts: Profile | NonNullable<Profile['soft']>; readonly s: number; readonly width: number },
): void {
  const { amounts, s, width } = at;
  row.cpuMilli = Math.min(row.cpuMilli, amounts.cpuMilli[s] as number);
  row.memoryBytes = Math.min(row.memoryBytes, amounts.memoryBytes[s] as number);
  const offset = s * width;
  for (let d = 0; d < width; d += 1) {
    const free = amounts.free[offset + d] as number;
    if (free < (row.free[d] as number)) row.free[d] = free;
  }
}

function clear(row: WindowRow): void {
  row.cpuMilli = Number.POSITIVE_INFINITY;
  row.memoryBytes = Number.POSITIVE_INFINITY;
  row.free.fill(Number.POSITIVE_INFINITY);
}

/** The least that is left all through the window that starts at `startMs`, into `row`. */
export function windowAt(
  { line, profile, row }: { readonly line: NodeLine; readonly profile: Profile; readonly row: WindowRow },
  ask: SpanAsk,
  startMs: number,
): void {
  const width = line.free.length;
  clear(row);
  for (let s = segmentAt(profile, startMs); s < profile.size; s += 1) {
    const at = profile.timesMs[s] as number;
    if (at >= startMs + ask.maxMs) break;
    const amounts = profile.soft === null || at < startMs + ask.minMs ? profile : profile.soft;
    narrow(row, { amounts, s, width });
  }
}

/**
 * The earliest moment from which the line has room for the unit, on the same devices all through; Infinity when there is
 * none. What is found to lie after `limitMs` is not looked at further: the answer is then a lower bound after the limit.
 */
export function earliestOn(
  { line, profile, row }: { readonly line: NodeLine; readonly profile: Profile; readonly row: WindowRow },
  ask: SpanAsk,
  limitMs: number,
): number {
  const { size, timesMs, wholeCounts } = profile;
  const { gpuCount } = ask.unit;
  let s = segmentAt(profile, ask.fromMs);
  while (s < size) {
    if ((wholeCounts[s] as number) < gpuCount) {
      s += 1;
      continue;
    }
    const startMs = Math.max(timesMs[s] as number, ask.fromMs);
    if (startMs > limitMs) return startMs;
    if (startMs + ask.minMs > line.leaveByMs) return Number.POSITIVE_INFINITY;
    const failed = firstFailure({ line, profile, row }, ask, { s, startMs });
    if (failed < 0) return startMs;
    s = failed + 1;
  }
  return Number.POSITIVE_INFINITY;
}

/** No start is before this: the first moment with enough devices and amounts, whatever comes after it. */
export function notBefore(profile: Profile, { unit, fromMs }: SpanAsk): number {
  const { size, timesMs, wholeCounts } = profile;
  const { cpuMilli, memoryBytes } = profile.soft ?? profile;
  for (let s = segmentAt(profile, fromMs); s < size; s += 1) {
    if ((wholeCounts[s] as number) < unit.gpuCount || (cpuMilli[s] as number) < unit.cpuMilli) continue;
    if ((memoryBytes[s] as number) >= unit.memoryBytes) return Math.max(timesMs[s] as number, fromMs);
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * -1 when the window holds the unit, else a segment at or before which no window can start: the one that has no room by
 * itself, or the first one of the window when only the whole of it has none.
 */
function firstFailure(
  { line, profile, row }: { readonly line: NodeLine; readonly profile: Profile; readonly row: WindowRow },
  ask: SpanAsk,
  { s: first, startMs }: { readonly s: number; readonly startMs: number },
): number {
  const width = line.free.length;
  const endMs = startMs + ask.maxMs;
  clear(row);
  for (let s = first; s < profile.size; s += 1) {
    const at = profile.timesMs[s] as number;
    if (at >= endMs) break;
    if ((profile.wholeCounts[s] as number) < ask.unit.gpuCount) return s;
    const amounts = profile.soft === null || at < startMs + ask.minMs ? profile : profile.soft;
    narrow(row, { amounts, s, width });
    if (rowHolds(line, row, ask.unit)) continue;
    if (s === first) return s;
    clear(row);
    narrow(row, { amounts: profile.soft ?? profile, s, width });
    return rowHolds(line, row, ask.unit) ? first : s;
  }
  return -1;
}
