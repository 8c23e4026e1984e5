import { type Demand, kernelClasses, type Unit } from './demand.js';
import type { DeviceView } from './device-table.js';
import { MAY, shareRoom } from './device-table.js';
import { deviceViewOf, holds, indexOfNode, type NodeTable } from './node-table.js';
import { nodesToTry } from './place.js';
import type { Ranking } from './ranking.js';

/** Whether a request whose kernels are all alike has room, kept up to date node by node as rooms come and go. */
export interface RoomGauge {
  readonly fits: () => boolean;
  /** To be called after the amounts of these nodes changed. */
  readonly refresh: (nodes: Iterable<string>) => void;
}

/**
 * Kernels that are all alike, and kernels that all go to one node, never get in one another's way: they fit exactly when
 * the nodes hold enough of them in sum. null for a request whose kernels differ and may lie apart: only a search tells.
 */
export function roomGauge(ranking: Ranking, demand: Demand): RoomGauge | null {
  const classes = demand.spread ? kernelClasses(demand) : [];
  if (classes.length > 1 || demand.contradicts) return null;
  const { table } = ranking;
  const mask = nodesToTry(ranking, demand);
  const free = deviceViewOf(table, demand.gpuModel);
  const { unit, wanted } = classes[0] === undefined ? { unit: demand.total, wanted: 1 } : kernelsOf(demand, classes[0]);
  const countOn = (i: number): number => {
    if (mask[i] === 0 || !holds(table, i, { unit, free })) return 0;
    return wanted === 1 ? 1 : unitsOn(table, i, { unit, free });
  };
  const counts = Float64Array.from(mask, (_open, i) => countOn(i));
  let sum = counts.reduce((total, count) => total + count, 0);
  return {
    fits: () => sum >= wanted,
    refresh: (nodes) => {
      for (const name of nodes) {
        const i = indexOfNode(table, name);
        if (i < 0) continue;
        const count = countOn(i);
        sum += count - (counts[i] as number);
        counts[i] = count;
      }
    },
  };
}

const kernelsOf = ({ kernels }: Demand, unit: Unit): { readonly unit: Unit; readonly wanted: number } => ({
  unit,
  wanted: kernels.length,
});

/** How many of the unit, one kernel's, the node holds beside one another. */
function unitsOn(
  table: NodeTable,
  i: number,
  { unit, free }: { readonly unit: Unit; readonly free: DeviceView },
): number {
  const times = (left: number, each: number): number =>
    each === 0 ? Number.POSITIVE_INFINITY : Math.floor(left / each);
  return Math.min(
    times(table.cpuMilli[i] as number, unit.cpuMilli),
    times(table.memoryBytes[i] as number, unit.memoryBytes),
    times(free.whole[i] as number, unit.gpuCount),
    unit.gpuMemoryBytes === 0 ? Number.POSITIVE_INFINITY : sharesOn(table, i, { bytes: unit.gpuMemoryBytes, free }),
  );
}

/** A hardware instance takes one, whatever it has left. */
function sharesOn(
  { devices }: NodeTable,
  i: number,
  { bytes, free }: { readonly bytes: number; readonly free: DeviceView },
): number {
  let count = 0;
  for (let d = devices.start[i] as number; d < (devices.start[i + 1] as number); d += 1) {
    if (free.model !== -1 && devices.model[d] !== free.model) continue;
    const fitting = Math.floor(shareRoom(devices, d) / bytes);
    count += ((devices.may[d] as number) & MAY.one) === 0 ? fitting : Math.min(1, fitting);
  }
  return count;
}
