import type { PlacedKernel } from '../contract/plan.js';
import type { SnapshotNode } from '../contract/snapshot.js';
import type { Assignment } from './assignment.js';
import { bookedBytes, type DeviceTable, isFree, MAY, shareRoom } from './device-table.js';
import { indexOfNode, type KernelTake, type NodeTable } from './node-table.js';
import { giveBack, type RankedList, type Ranking, takeOn } from './ranking.js';

/** Room by name: of a running session, a hold, a reservation or a placement. Slots as they are booked. */
export type Room = Omit<PlacedKernel, 'kernelId'>;

/**
 * Promises the room, whether it is free or not: amounts may go below 0 (a hold whose victims have not left), and come
 * back exactly when either is vacated. A node or device that the table does not know takes nothing.
 */
export function occupy(ranking: Ranking, room: Room): void {
  const i = indexOfNode(ranking.table, room.node);
  if (i >= 0) takeOn(ranking, i, takeOf(ranking.table, i, room));
}

/** Undoes `occupy`, or frees what the snapshot counts as promised (a victim, a session that will have ended). */
export function vacate(ranking: Ranking, room: Room): void {
  const i = indexOfNode(ranking.table, room.node);
  if (i >= 0) giveBack(ranking, i, takeOf(ranking.table, i, room));
}

/** Whether the node is open and all of the room is free on it, on exactly these devices. */
export function roomIsFree(table: NodeTable, room: Room): boolean {
  const i = indexOfNode(table, room.node);
  if (i < 0 || table.open[i] === 0) return false;
  const { slots } = room;
  if ((table.cpuMilli[i] as number) < slots.cpuMilli || (table.memoryBytes[i] as number) < slots.memoryBytes)
    return false;
  const { devices } = takeOf(table, i, room);
  const start = table.devices.start[i] as number;
  return (
    devices.length === room.deviceIds.length && devices.every((place) => isFreeFor(table.devices, start + place, slots))
  );
}

function isFreeFor(devices: DeviceTable, d: number, { gpuCount, gpuMemoryBytes }: Room['slots']): boolean {
  if (gpuCount > 0) return ((devices.may[d] as number) & MAY.whole) !== 0 && isFree(devices, d);
  return shareRoom(devices, d) >= gpuMemoryBytes;
}

/** Occupies all the rooms when all of them together are free, else none. */
export function occupyIfFree(ranking: Ranking, rooms: readonly Room[]): boolean {
  for (const [k, room] of rooms.entries()) {
    if (!roomIsFree(ranking.table, room)) {
      for (const taken of rooms.slice(0, k)) vacate(ranking, taken);
      return false;
    }
    occupy(ranking, room);
  }
  return true;
}

function takeOf(table: NodeTable, i: number, { deviceIds, slots }: Room): KernelTake {
  const { devices } = table.nodes[i] as SnapshotNode;
  const places = deviceIds.map((id) => devices.findIndex((device) => device.id === id)).filter((place) => place >= 0);
  return { slots, devices: places };
}

/** The rooms of an assignment, as the ledger books them: a share on a hardware instance books all of it. */
export function placedKernelsOf(
  table: NodeTable,
  kernels: readonly Pick<PlacedKernel, 'kernelId' | 'slots'>[],
  assignment: Pick<Assignment, 'nodeOfKernel' | 'devicesOfKernel'>,
): PlacedKernel[] {
  return kernels.map(({ kernelId, slots }, k) => {
    const i = assignment.nodeOfKernel[k] as number;
    const places = assignment.devicesOfKernel[k] as readonly number[];
    const node = table.nodes[i] as SnapshotNode;
    const deviceIds = places.map((place) => node.devices[place]?.id as string);
    return { kernelId, node: node.name, deviceIds, slots: bookedSlots(table, slots, { node: i, place: places[0] }) };
  });
}

function bookedSlots(
  { devices }: NodeTable,
  slots: PlacedKernel['slots'],
  { node, place }: { readonly node: number; readonly place: number | undefined },
): PlacedKernel['slots'] {
  if (slots.gpuMemoryBytes === 0 || place === undefined) return slots;
  const bytes = bookedBytes(devices, (devices.start[node] as number) + place, slots.gpuMemoryBytes);
  return bytes === slots.gpuMemoryBytes ? slots : { ...slots, gpuMemoryBytes: bytes };
}

/** A ranking that goes its own way from here, for plans of the future (`atMs`: of that moment). Costs one copy of the amounts. */
export function copyOf(ranking: Ranking, atMs: number = ranking.table.atMs): Ranking {
  const table = copyOfTable(ranking.table, atMs);
  return {
    ...ranking,
    table,
    order: ranking.slotOrder.map((slot) => table[slot]),
    idle: atMs === ranking.table.atMs ? ranking.idle : undefined,
    lists: ranking.lists?.map(({ kinds, nodes }): RankedList => ({ kinds, nodes: nodes.slice() })),
    replicas: new Map([...ranking.replicas].map(([key, counts]) => [key, counts.slice()])),
  };
}

function copyOfTable(table: NodeTable, atMs: number): NodeTable {
  const gpuCount = table.gpuCount.slice();
  return {
    ...table,
    atMs,
    cpuMilli: table.cpuMilli.slice(),
    memoryBytes: table.memoryBytes.slice(),
    gpuCount,
    gpuMemoryBytes: table.gpuMemoryBytes.slice(),
    devices: { ...table.devices, leftBytes: table.devices.leftBytes.slice() },
    views: new Map(
      [...table.views].map(([key, view]) => [
        key,
        { model: view.model, whole: key === '' ? gpuCount : view.whole.slice(), share: view.share.slice() },
      ]),
    ),
  };
}
