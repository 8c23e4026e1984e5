import type { PlacedKernel } from '../contract/plan.js';
import type { SnapshotHold, SnapshotPending, SnapshotRoom, SnapshotRunning } from '../contract/snapshot.js';
import { msOf } from './moments.js';
import { indexOfNode } from './node-table.js';
import type { Ranking } from './ranking.js';
import { occupy, occupyIfFree, type Room, vacate } from './rooms.js';

/** Room that is kept for a session while those that were stopped for it leave. */
export interface HeldRoom {
  readonly kernels: readonly PlacedKernel[];
  /** What of it is free already and kept from the others: what its victims still have is theirs until they are gone. */
  readonly kept: readonly Room[];
  /** Those of its victims that have not left. One that came back since runs for itself, and has no end. */
  readonly victims: readonly SnapshotRunning[];
  /** Whose it is, once the pass has come to it. */
  session: SnapshotPending | null;
}

type Held = Pick<SnapshotHold, 'kernels' | 'victims'>;

/** Keeps the room from everybody else, beyond what its victims have: that comes back only when they leave. */
export function keepRoom(ranking: Ranking, hold: Held, running: ReadonlyMap<string, SnapshotRunning>): HeldRoom {
  const victims = hold.victims.flatMap((id) => running.get(id) ?? []).filter(({ goneBy }) => goneBy !== null);
  const kept = missingRooms(
    hold.kernels,
    victims.flatMap(({ kernels }) => kernels),
  );
  for (const room of kept) occupy(ranking, room);
  return { kernels: hold.kernels, kept, victims, session: null };
}

export function dropRoom(ranking: Ranking, { kept }: HeldRoom): void {
  for (const room of kept) vacate(ranking, room);
}

/** Takes exactly the held room when all of it is free; else it stays kept. */
export function enterRoom(ranking: Ranking, held: HeldRoom): boolean {
  dropRoom(ranking, held);
  if (occupyIfFree(ranking, held.kernels)) return true;
  for (const room of held.kept) occupy(ranking, room);
  return false;
}

/** Whether it can still be had: its nodes are open and have its devices, healthy; and somebody has yet to leave it. */
export function canStillBeHad({ table }: Ranking, { kernels, victims }: HeldRoom): boolean {
  const stands = kernels.every(({ node: name, deviceIds }) => {
    const i = indexOfNode(table, name);
    const node = table.nodes[i];
    if (node === undefined || table.open[i] === 0) return false;
    return deviceIds.every((id) => node.devices.some((device) => device.id === id && device.healthy));
  });
  return stands && victims.length > 0;
}

/** When the last victim is gone at the latest, or the first; null when none is left. */
export function goneByMs({ victims }: HeldRoom, which: 'first' | 'last' = 'last'): number | null {
  const moments = victims.map(({ goneBy }) => (goneBy === null ? Number.NaN : msOf(goneBy)));
  const moment = which === 'last' ? Math.max(...moments) : Math.min(...moments);
  return Number.isFinite(moment) ? moment : null;
}

/** What the rooms need beyond what others have of the same nodes and devices, as rooms. */
function missingRooms(wanted: readonly SnapshotRoom[], had: readonly SnapshotRoom[]): readonly Room[] {
  const rooms: Room[] = [];
  for (const node of new Set(wanted.map((room) => room.node))) {
    const need = amountsOn(wanted, node);
    const have = amountsOn(had, node);
    rooms.push(
      room(node, {
        cpuMilli: beyond(need.cpuMilli, have.cpuMilli),
        memoryBytes: beyond(need.memoryBytes, have.memoryBytes),
      }),
    );
    for (const [id, bytes] of need.devices) {
      const others = have.devices.get(id) ?? 0;
      if (others === WHOLE || bytes <= others) continue;
      rooms.push(deviceRoom(node, { id, bytes: bytes === WHOLE ? WHOLE : bytes - others }));
    }
  }
  return rooms;
}

const WHOLE = Number.POSITIVE_INFINITY;
const beyond = (need: number, have: number): number => Math.max(0, need - have);

function amountsOn(rooms: readonly SnapshotRoom[], name: string) {
  let cpuMilli = 0;
  let memoryBytes = 0;
  const devices = new Map<string, number>();
  for (const { node, slots, deviceIds } of rooms) {
    if (node !== name) continue;
    cpuMilli += slots.cpuMilli;
    memoryBytes += slots.memoryBytes;
    for (const id of deviceIds)
      devices.set(id, (devices.get(id) ?? 0) + (slots.gpuCount > 0 ? WHOLE : slots.gpuMemoryBytes));
  }
  return { cpuMilli, memoryBytes, devices };
}

const room = (node: string, amounts: { readonly cpuMilli: number; readonly memoryBytes: number }): Room => ({
  node,
  deviceIds: [],
  slots: { ...amounts, gpuCount: 0, gpuMemoryBytes: 0 },
});

/** A device that victims share, wanted whole, is kept whole: nobody else gets what they leave of it. */
const deviceRoom = (node: string, { id, bytes }: { readonly id: string; readonly bytes: number }): Room => ({
  node,
  deviceIds: [id],
  slots: {
    cpuMilli: 0,
    memoryBytes: 0,
    gpuCount: bytes === WHOLE ? 1 : 0,
    gpuMemoryBytes: bytes === WHOLE ? 0 : bytes,
  },
});
