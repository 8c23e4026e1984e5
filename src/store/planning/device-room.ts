import type { PlacedKernel, Sharing, Slots } from '../../contract/index.js';

/** What is promised of one healthy device. */
export interface DeviceRoom {
  readonly memoryBytes: number;
  readonly sharing: Sharing;
  isWhole: boolean;
  shares: number;
  sharedBytes: number;
}
export type DeviceRooms = Map<string, DeviceRoom>;

export const deviceKey = (node: string, device: string): string => `${node}/${device}`;
export const copyOfRooms = (rooms: ReadonlyMap<string, DeviceRoom>): DeviceRooms =>
  new Map([...rooms].map(([key, room]) => [key, { ...room }]));

function takeWhole(room: DeviceRoom | undefined): boolean {
  if (room === undefined || room.isWhole || room.shares > 0 || room.sharing === 'mig') return false;
  room.isWhole = true;
  return true;
}

/** A MIG instance is promised whole, to one share; of any other device exactly what was asked is promised. */
function takeShare(room: DeviceRoom | undefined, promised: number, asked: number): boolean {
  if (room === undefined || room.isWhole) return false;
  const isInstance = room.sharing === 'mig';
  const isExact = isInstance
    ? room.shares === 0 && promised === room.memoryBytes && promised >= asked
    : promised === asked;
  if (!isExact || room.sharedBytes + promised > room.memoryBytes) return false;
  room.shares += 1;
  room.sharedBytes += promised;
  return true;
}

/** The kernel's devices, if all of them can be promised: as many whole ones as it asked for, or its share of one. */
export function takeDevices(rooms: DeviceRooms, kernel: PlacedKernel, asked: Slots): boolean {
  const { node, deviceIds, slots } = kernel;
  if (asked.gpuMemoryBytes > 0) {
    const [only] = deviceIds;
    const isOne = only !== undefined && deviceIds.length === 1;
    return isOne && takeShare(rooms.get(deviceKey(node, only)), slots.gpuMemoryBytes, asked.gpuMemoryBytes);
  }
  return deviceIds.length === asked.gpuCount && deviceIds.every((id) => takeWhole(rooms.get(deviceKey(node, id))));
}
