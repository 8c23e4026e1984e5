import { type Demand, kernelClasses, type Unit } from './demand.js';
import { type DeviceView, MAY, shareRoom } from './device-table.js';
import { deviceViewOf, holds, type NodeTable } from './node-table.js';

/** How many of the unit, one kernel's, the node holds beside one another. */
export function unitsOn(
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

/**
 * Whether kernels that are all alike and may lie apart have room on these nodes: they do exactly when the nodes hold enough
 * of them in sum. null for others, where only a search tells.
 */
export function alikeFit(table: NodeTable, demand: Demand, mask: Uint8Array): boolean | null {
  if (!demand.spread) return null;
  const classes = kernelClasses(demand);
  const unit = classes[0];
  if (unit === undefined || classes.length > 1) return null;
  const free = deviceViewOf(table, demand.gpuModel);
  let wanted = demand.kernels.length;
  for (let i = 0; i < mask.length && wanted > 0; i += 1) {
    if (mask[i] === 1 && holds(table, i, { unit, free })) wanted -= unitsOn(table, i, { unit, free });
  }
  return wanted <= 0;
}
