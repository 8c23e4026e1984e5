import type { SnapshotDevice, SnapshotNode, SnapshotRoom } from '../contract/snapshot.js';
import { msOf } from './moments.js';

/** Room on one node: millicores, bytes, and bytes of each device by index (all of them when it is held whole). */
export interface Room {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly devices: readonly { readonly index: number; readonly bytes: number }[];
}

/** Whose runtime says how long room is kept. */
export interface Owner {
  readonly id: string;
  readonly name: string;
  readonly priority: number;
  readonly userId: string;
  readonly projectId: string;
  readonly domainId: string;
  readonly preemptible: boolean;
  readonly budgetId: string | null;
  readonly minRuntimeSeconds: number;
}

/** Room of somebody who runs, until he leaves: at most `maxMs`; `minMs` for somebody who may stop him. */
export interface Lease extends Room {
  readonly owner: Owner;
  readonly maxMs: number;
  readonly minMs: number;
}

/** Room that is taken from `fromMs` on: a reservation, a hold, or a session that this pass placed. */
export interface Take extends Room {
  readonly owner: Owner;
  readonly fromMs: number;
  readonly untilMs: number;
  /** The same for somebody who may stop him; `untilMs` where it is not said. */
  readonly minUntilMs?: number;
}

/** One node's room in time: what is left now, when those who run give back theirs, and what is taken. */
export interface NodeLine {
  readonly node: SnapshotNode;
  readonly index: number;
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  /** Free bytes of each device now; 0 while it is held whole. */
  readonly free: Float64Array;
  /** What the device has when nobody holds any of it, for whole use and for shares; Infinity where it is not for that use, or broken. */
  readonly whole: Float64Array;
  readonly share: Float64Array;
  /** 1 for a MIG instance: it takes one share, and gives all of itself. */
  readonly single: Uint8Array;
  /** Work has to be gone by then. */
  readonly leaveByMs: number;
  leases: readonly Lease[];
  takes: readonly Take[];
  /** Raised by every change: what was worked out from an older one is a lower bound only. */
  version: number;
}

const NEVER_FITS = Number.POSITIVE_INFINITY;

export function nodeLine(node: SnapshotNode, index: number, allowUnenforcedSharing: boolean): NodeLine {
  const { devices } = node;
  const mayBeWhole = ({ healthy, sharing }: SnapshotDevice): boolean => healthy && sharing !== 'mig';
  const maySplit = ({ healthy, sharing }: SnapshotDevice): boolean =>
    healthy && (sharing !== 'none' || allowUnenforcedSharing);
  return {
    node,
    index,
    cpuMilli: node.capacity.cpuMilli - node.used.cpuMilli,
    memoryBytes: node.capacity.memoryBytes - node.used.memoryBytes,
    free: Float64Array.from(devices, freeBytes),
    whole: Float64Array.from(devices, (device) => (mayBeWhole(device) ? device.memoryBytes : NEVER_FITS)),
    share: Float64Array.from(devices, (device) => (maySplit(device) ? device.memoryBytes : NEVER_FITS)),
    single: Uint8Array.from(devices, ({ sharing }) => (sharing === 'mig' ? 1 : 0)),
    leaveByMs: node.moveAt === null ? Number.POSITIVE_INFINITY : msOf(node.moveAt),
    leases: [],
    takes: [],
    version: 0,
  };
}

function freeBytes(device: SnapshotDevice): number {
  if (device.heldBy !== null) return 0;
  if (device.sharing === 'mig') return device.shares.length > 0 ? 0 : device.memoryBytes;
  return device.shares.reduce((left, { memoryBytes }) => left - memoryBytes, device.memoryBytes);
}

/** The room of a kernel that has devices by id; one that the node has no more is left out. */
export function roomOf(node: SnapshotNode, { slots, deviceIds }: Pick<SnapshotRoom, 'slots' | 'deviceIds'>): Room {
  const devices: { readonly index: number; readonly bytes: number }[] = [];
  for (const id of deviceIds) {
    for (let index = 0; index < node.devices.length; index += 1) {
      const device = node.devices[index] as SnapshotDevice;
      if (device.id !== id) continue;
      const isShare = slots.gpuCount === 0 && device.sharing !== 'mig';
      devices.push({ index, bytes: isShare ? slots.gpuMemoryBytes : device.memoryBytes });
      break;
    }
  }
  return { cpuMilli: slots.cpuMilli, memoryBytes: slots.memoryBytes, devices };
}
