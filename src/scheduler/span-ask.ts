import type { SnapshotPending } from '../contract/snapshot.js';
import type { NodeLine } from './node-line.js';

/** What a request needs on a node, for a span of time. */
export interface SpanUnit {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly gpuCount: number;
  readonly gpuModel: string | null;
  /** Shares of one device each, in bytes, the largest first. */
  readonly shares: readonly number[];
}

export function spanUnitOf(
  kernels: readonly Pick<SnapshotPending['kernels'][number], 'slots'>[],
  gpuModel: string | null,
): SpanUnit {
  let cpuMilli = 0;
  let memoryBytes = 0;
  let gpuCount = 0;
  const shares: number[] = [];
  for (const { slots } of kernels) {
    cpuMilli += slots.cpuMilli;
    memoryBytes += slots.memoryBytes;
    gpuCount += slots.gpuCount;
    if (slots.gpuMemoryBytes > 0) shares.push(slots.gpuMemoryBytes);
  }
  return { cpuMilli, memoryBytes, gpuCount, gpuModel, shares: shares.toSorted((a, b) => b - a) };
}

/** The least that is left of a node all through a window. */
export interface WindowRow {
  cpuMilli: number;
  memoryBytes: number;
  /** Of each device; only the first entries, as many as the node has devices, mean anything. */
  readonly free: Float64Array;
}

const hasModel = (line: NodeLine, d: number, model: string | null): boolean =>
  model === null || line.node.devices[d]?.model === model;

/** How many devices nobody holds any part of, of the model that is pinned. */
export function wholeDevices(line: NodeLine, free: Float64Array, model: string | null): number {
  const { whole } = line;
  let count = 0;
  for (let d = 0; d < whole.length; d += 1) {
    if (free[d] === whole[d] && hasModel(line, d, model)) count += 1;
  }
  return count;
}

/**
 * The device for a share: the one with the least left after it; a shared one before an empty one; then the lower index.
 * -1 when none has that much. A MIG instance has room only while it is empty.
 */
export function deviceForShare(
  line: NodeLine,
  free: Float64Array,
  ask: { readonly bytes: number; readonly gpuModel: string | null },
): number {
  let best = -1;
  let bestLeft = Number.POSITIVE_INFINITY;
  for (let d = 0; d < line.share.length; d += 1) {
    const full = line.share[d] as number;
    const left = (free[d] as number) - ask.bytes;
    if (left < 0 || full === Number.POSITIVE_INFINITY || !hasModel(line, d, ask.gpuModel)) continue;
    if (line.single[d] === 1 && free[d] !== full) continue;
    const isCloser = left < bestLeft || (left === bestLeft && free[d] !== full && free[best] === line.share[best]);
    if (isCloser) {
      best = d;
      bestLeft = left;
    }
  }
  return best;
}

/** Whether the row holds the unit. Shares go first, the largest first, so that whole devices stay whole. */
export function rowHolds(line: NodeLine, row: WindowRow, unit: SpanUnit): boolean {
  if (row.cpuMilli < unit.cpuMilli || row.memoryBytes < unit.memoryBytes) return false;
  if (unit.shares.length === 0)
    return unit.gpuCount === 0 || wholeDevices(line, row.free, unit.gpuModel) >= unit.gpuCount;
  const free = row.free.slice(0, line.free.length);
  for (const bytes of unit.shares) {
    const d = deviceForShare(line, free, { bytes, gpuModel: unit.gpuModel });
    if (d < 0) return false;
    free[d] = line.single[d] === 1 ? 0 : (free[d] as number) - bytes;
  }
  return wholeDevices(line, free, unit.gpuModel) >= unit.gpuCount;
}

/** How many kernels of a kind the row holds, up to `most`. */
export function kernelsHeld(line: NodeLine, row: WindowRow, { unit, most }: { unit: SpanUnit; most: number }): number {
  let count = most;
  if (unit.cpuMilli > 0) count = Math.min(count, Math.floor(row.cpuMilli / unit.cpuMilli));
  if (unit.memoryBytes > 0) count = Math.min(count, Math.floor(row.memoryBytes / unit.memoryBytes));
  if (unit.gpuCount > 0 && count > 0)
    count = Math.min(count, Math.floor(wholeDevices(line, row.free, unit.gpuModel) / unit.gpuCount));
  const share = unit.shares[0];
  if (share !== undefined && count > 0) count = Math.min(count, sharesHeld(line, row.free, { share, unit }));
  return Math.max(0, count);
}

function sharesHeld(line: NodeLine, free: Float64Array, { share, unit }: { share: number; unit: SpanUnit }): number {
  let count = 0;
  for (let d = 0; d < line.share.length; d += 1) {
    if (line.share[d] === Number.POSITIVE_INFINITY || !hasModel(line, d, unit.gpuModel)) continue;
    if (line.single[d] === 1) count += free[d] === line.share[d] && (free[d] as number) >= share ? 1 : 0;
    else count += Math.max(0, Math.floor((free[d] as number) / share));
  }
  return count;
}
