import type { Slots } from '../../src/contract/slots.js';
import type { SnapshotNode, SnapshotRunning } from '../../src/contract/snapshot.js';
import { kernelId, NOW, sessionId, slots } from './build.js';

/** `minutes` from NOW; negative before it. */
export const at = (minutes: number): string => new Date(Date.parse(NOW) + minutes * 60_000).toISOString();

export interface RoomShape {
  readonly node: string;
  readonly slots?: Slots;
  readonly devices?: readonly string[];
}

export interface RunningShape extends Partial<Omit<SnapshotRunning, 'id' | 'kernels'>> {
  /** Rooms of its kernels; one of 1 CPU, 1 GiB on `node-a` unless said. */
  readonly rooms?: readonly RoomShape[];
}

/** Session `n` runs since an hour, may be stopped, and has no minimum runtime unless said. */
export function running(n: number, { rooms = [{ node: 'node-a' }], ...rest }: RunningShape = {}): SnapshotRunning {
  return {
    id: sessionId(n),
    name: `r${n}`,
    version: 3,
    attempt: 1,
    userId: 'usr_alice',
    projectId: 'prj_vision',
    domainId: 'dom_lab',
    kind: 'batch',
    priority: 10,
    submittedAt: at(-70),
    placedAt: at(-61),
    startedAt: at(-60),
    minRuntimeSeconds: 0,
    maxRuntimeSeconds: null,
    gracePeriodSeconds: 10,
    preemptible: true,
    replicaGroup: null,
    budgetId: null,
    resumable: false,
    goneBy: null,
    kernels: rooms.map((room, k) => ({
      kernelId: kernelId(n, k),
      node: room.node,
      deviceIds: [...(room.devices ?? [])],
      slots: room.slots ?? slots(1, 1, room.devices?.length ?? 0),
    })),
    ...rest,
  };
}

/** The nodes with all rooms of the sessions booked on them, device by device. */
export function booked(nodes: readonly SnapshotNode[], sessions: readonly SnapshotRunning[]): SnapshotNode[] {
  const rooms = sessions.flatMap(({ kernels }) => kernels);
  return nodes.map((node) => {
    const here = rooms.filter((room) => room.node === node.name);
    const sum = (slot: 'cpuMilli' | 'memoryBytes'): number => here.reduce((total, room) => total + room.slots[slot], 0);
    const devices = node.devices.map((device) => {
      const on = here.filter(({ deviceIds }) => deviceIds.includes(device.id));
      const whole = on.find((room) => room.slots.gpuCount > 0);
      const shares = on
        .filter((room) => room.slots.gpuMemoryBytes > 0)
        .map((room) => ({ kernelId: room.kernelId, memoryBytes: room.slots.gpuMemoryBytes }));
      return { ...device, heldBy: whole?.kernelId ?? device.heldBy, shares };
    });
    const used = {
      cpuMilli: node.used.cpuMilli + sum('cpuMilli'),
      memoryBytes: node.used.memoryBytes + sum('memoryBytes'),
    };
    return { ...node, used, devices };
  });
}
