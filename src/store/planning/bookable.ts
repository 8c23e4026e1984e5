import type { Placed, Slots, SnapshotQuota } from '../../contract/index.js';
import { QUOTA_SLOTS } from '../../contract/index.js';
import { copyOfRooms, type DeviceRooms, takeDevices } from './device-room.js';

/** What the ledger says under its locks, of all that a plan names. */
export interface Ledger {
  /** PENDING at the plan's version, with the slots of their kernels as they were admitted. */
  readonly sessions: ReadonlyMap<
    string,
    { readonly kernels: ReadonlyMap<string, Slots>; readonly scopes: ReadonlyMap<string, string> }
  >;
  readonly nodes: ReadonlyMap<
    string,
    { readonly cpuMilli: number; readonly memoryBytes: number; readonly gpuCount: number }
  >;
  /** Healthy devices by `node/device`. */
  readonly devices: DeviceRooms;
  readonly quotas: readonly SnapshotQuota[];
}

interface Room {
  readonly nodes: Map<string, { cpuMilli: number; memoryBytes: number; gpuCount: number }>;
  readonly devices: DeviceRooms;
  readonly held: Map<SnapshotQuota, Record<(typeof QUOTA_SLOTS)[number], number>>;
}

/** The kernels are those of the session, each once. */
function isWhole(placed: Placed, kernels: ReadonlyMap<string, Slots>): boolean {
  const ids = new Set(placed.kernels.map((kernel) => kernel.kernelId));
  return (
    ids.size === kernels.size &&
    placed.kernels.length === kernels.size &&
    placed.kernels.every((kernel) => kernels.has(kernel.kernelId))
  );
}

function takeNodes(room: Room, placed: Placed, kernels: ReadonlyMap<string, Slots>): boolean {
  for (const kernel of placed.kernels) {
    const free = room.nodes.get(kernel.node);
    const slots = kernels.get(kernel.kernelId);
    if (free === undefined || slots === undefined) return false;
    free.cpuMilli -= slots.cpuMilli;
    free.memoryBytes -= slots.memoryBytes;
    free.gpuCount -= slots.gpuCount;
    if (free.cpuMilli < 0 || free.memoryBytes < 0 || free.gpuCount < 0) return false;
    if (!takeDevices(room.devices, kernel, slots)) return false;
  }
  return true;
}

function takeQuotas(room: Room, kernels: ReadonlyMap<string, Slots>, scopes: ReadonlyMap<string, string>): boolean {
  for (const [quota, held] of room.held) {
    if (scopes.get(quota.scope) !== quota.id) continue;
    for (const slot of QUOTA_SLOTS) {
      const asked = slot === 'sessions' ? 1 : [...kernels.values()].reduce((sum, slots) => sum + slots[slot], 0);
      const limit = quota.limits[slot];
      held[slot] += asked;
      if (asked > 0 && limit !== undefined && held[slot] > limit) return false;
    }
  }
  return true;
}

const copyOf = (room: Room): Room => ({
  nodes: new Map([...room.nodes].map(([node, free]) => [node, { ...free }])),
  devices: copyOfRooms(room.devices),
  held: new Map([...room.held].map(([quota, held]) => [quota, { ...held }])),
});

/**
 * The part of a plan that still holds, in the plan's order. A stale choice (its row changed, its device is taken, its node
 * or quota has no room) is left out alone. Only the rooms of what a choice names are undone when it is left out.
 */
export function bookable(placed: readonly Placed[], ledger: Ledger): readonly Placed[] {
  let room: Room = {
    nodes: new Map([...ledger.nodes].map(([node, free]) => [node, { ...free }])),
    devices: copyOfRooms(ledger.devices),
    held: new Map(ledger.quotas.map((quota) => [quota, { ...quota.held }])),
  };
  let undo = copyOf(room);
  return placed.filter((choice) => {
    const session = ledger.sessions.get(choice.sessionId);
    if (session === undefined || !isWhole(choice, session.kernels)) return false;
    const fits = takeNodes(room, choice, session.kernels) && takeQuotas(room, session.kernels, session.scopes);
    if (fits) replay(undo, choice, session);
    else {
      room = undo;
      undo = copyOf(room);
    }
    return fits;
  });
}

/** Keeps the copy equal to the room, so that undoing costs a copy only when a choice was stale. */
function replay(
  room: Room,
  choice: Placed,
  session: { readonly kernels: ReadonlyMap<string, Slots>; readonly scopes: ReadonlyMap<string, string> },
): void {
  takeNodes(room, choice, session.kernels);
  takeQuotas(room, session.kernels, session.scopes);
}
