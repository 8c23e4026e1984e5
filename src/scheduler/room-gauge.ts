import { type Demand, kernelClasses, type Unit } from './demand.js';
import { deviceViewOf, holds, indexOfNode } from './node-table.js';
import { nodesToTry } from './place.js';
import type { Ranking } from './ranking.js';
import { unitsOn } from './units-on.js';

/** Whether a request may have room, kept up to date node by node as rooms come and go. */
export interface RoomGauge {
  /** When false there is no room; when true there is some if the gauge is exact, else there may be. */
  readonly fits: () => boolean;
  readonly isExact: boolean;
  /** Whether one of these nodes holds any of it. */
  readonly holdsSome: (nodes: Iterable<string>) => boolean;
  /** To be called after the amounts of these nodes changed. */
  readonly refresh: (nodes: Iterable<string>) => void;
}

/**
 * Kernels that are all alike, and kernels that all go to one node, never get in one another's way: they fit exactly when
 * the nodes hold enough of them in sum. Of kernels that differ and may lie apart the least in each amount is counted:
 * where not even so many of those fit there is no room; else only a search tells.
 */
export function roomGauge(ranking: Ranking, demand: Demand): RoomGauge {
  const { table } = ranking;
  const classes = demand.spread ? kernelClasses(demand) : [];
  const mask = nodesToTry(ranking, demand);
  const free = deviceViewOf(table, demand.gpuModel);
  const unit = demand.spread ? leastOf(classes) : demand.total;
  const wanted = demand.spread ? demand.kernels.length : 1;
  const countOn = (i: number): number => {
    if (mask[i] === 0 || !holds(table, i, { unit, free })) return 0;
    return wanted === 1 ? 1 : unitsOn(table, i, { unit, free });
  };
  const counts = Float64Array.from(mask, (_open, i) => countOn(i));
  let sum = counts.reduce((total, count) => total + count, 0);
  return {
    fits: () => sum >= wanted && !demand.contradicts,
    isExact: classes.length <= 1,
    holdsSome: (nodes) => {
      for (const name of nodes) if ((counts[indexOfNode(table, name)] ?? 0) > 0) return true;
      return false;
    },
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

/** The least of each amount; of shares, the least of all when each kernel asks for one. */
function leastOf(units: readonly Unit[]): Unit {
  const least = (amount: (unit: Unit) => number): number => Math.min(...units.map(amount));
  const first = units[0] as Unit;
  if (units.length === 1) return first;
  const gpuMemoryBytes = least((unit) => unit.gpuMemoryBytes);
  return {
    cpuMilli: least((unit) => unit.cpuMilli),
    memoryBytes: least((unit) => unit.memoryBytes),
    gpuCount: least((unit) => unit.gpuCount),
    gpuMemoryBytes,
    shares: gpuMemoryBytes > 0 ? [gpuMemoryBytes] : [],
    isSimple: true,
    kinds: first.kinds,
  };
}
