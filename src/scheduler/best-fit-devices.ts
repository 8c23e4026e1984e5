import type { Unit } from './demand.js';
import { type DeviceTable, type DeviceView, isFree, MAY, shareRoom } from './device-table.js';
import { capacitiesOf, type NodeTable } from './node-table.js';
import { packDevices, shareDevice } from './pack-devices.js';

/** What a placement would break, per node: the less, the better. */
export interface Breakage {
  readonly compare: (a: number, b: number) => number;
}

/**
 * Least fragmentation first: (1) the fewest devices that were free and then are not (a share joins a shared device);
 * (2) a node that is in use already before one that is wholly free; (3) the least memory left on the device that takes
 * a share; (4) the fewest whole devices left on the node.
 */
export function breakage(
  table: NodeTable,
  { unit, free, mask }: { readonly unit: Unit; readonly free: DeviceView; readonly mask: Uint8Array },
): Breakage {
  const size = table.nodes.length;
  const broken = new Float64Array(size);
  const leftOver = new Float64Array(size);
  for (let i = 0; i < size; i += 1) {
    if (mask[i] === 0 || !mayHold(free, i, unit)) continue;
    broken[i] = 2 * devicesBroken(table.devices, i, { unit, model: free.model }) + (isUntouched(table, i) ? 1 : 0);
    leftOver[i] = restOfDevice(table.devices, i, { unit, model: free.model });
  }
  const compare = (a: number, b: number): number =>
    (broken[a] as number) - (broken[b] as number) ||
    (leftOver[a] as number) - (leftOver[b] as number) ||
    (table.gpuCount[a] as number) - (table.gpuCount[b] as number);
  return { compare };
}

const mayHold = (free: DeviceView, i: number, unit: Unit): boolean =>
  (free.whole[i] as number) >= unit.gpuCount && (free.share[i] as number) >= unit.gpuMemoryBytes;

interface Look {
  readonly unit: Unit;
  readonly model: number;
}

/** Free devices that could be had whole and that the unit takes, whole or in part. */
function devicesBroken(devices: DeviceTable, i: number, { unit, model }: Look): number {
  if (unit.shares.length === 0) return unit.gpuCount;
  const start = devices.start[i] as number;
  const breaks = (place: number): boolean =>
    isFree(devices, start + place) && ((devices.may[start + place] as number) & MAY.whole) !== 0;
  if (unit.isSimple) return breaks(shareDevice(devices, i, { model, bytes: unit.gpuMemoryBytes })) ? 1 : 0;
  const packing = packDevices(devices, i, { unit, model });
  if (typeof packing === 'string') return unit.gpuCount + unit.shares.length;
  return packing.whole.length + new Set(packing.shares.filter(breaks)).size;
}

/** Bytes left on the device that a single share goes to; 0 where there is no such device. */
function restOfDevice(devices: DeviceTable, i: number, { unit, model }: Look): number {
  if (unit.shares.length !== 1 || !unit.isSimple) return 0;
  const place = shareDevice(devices, i, { model, bytes: unit.gpuMemoryBytes });
  return shareRoom(devices, (devices.start[i] as number) + place) - unit.gpuMemoryBytes;
}

function isUntouched(table: NodeTable, i: number): boolean {
  const all = capacitiesOf(table);
  return (
    table.cpuMilli[i] === all.cpuMilli[i] &&
    table.memoryBytes[i] === all.memoryBytes[i] &&
    table.gpuMemoryBytes[i] === all.gpuMemoryBytes[i]
  );
}
