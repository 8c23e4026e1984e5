import type { KernelClass } from './demand.js';
import type { DeviceNeed } from './pack-devices.js';

/**
 * Most fillings of a node that one search tries: tens of milliseconds at worst. Kernels of one kind, and one kernel
 * beside many of another kind (a main with its workers), need about two a node and never meet it.
 */
export const SEARCH_STEPS = 100_000;

/** What is left on each candidate, in the order in which nodes are to be preferred. */
export interface Room {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly gpuCount: number;
  /** Only where shares of devices are asked. */
  readonly shares?: ShareRoom;
}

export interface ShareRoom {
  /** Left on all devices that take shares: an upper bound. */
  readonly gpuMemoryBytes: number;
  /** Whether the devices hold the need, exactly; it is asked once for each need. */
  readonly fits: (need: DeviceNeed) => 'fits' | 'none' | 'gave-up';
}

/** `counts[n][c]`: how many kernels of class c go to room n. */
export type Search = { readonly counts: readonly (readonly number[])[] } | 'none' | 'gave-up';

interface Problem {
  readonly rooms: readonly Room[];
  readonly classes: readonly KernelClass[];
}

/**
 * Exact search for an assignment of all kernels to rooms: one is found if there is any, unless the budget ends first.
 * Room by room, each way to fill it (largest first, the last class always to its most, since more never hurts). A state
 * (room, kernels that remain) that failed is not tried again, and a branch ends where the rest cannot suffice.
 */
export function searchAssignment(problem: Problem, budget = SEARCH_STEPS): Search {
  const { rooms, classes } = problem;
  const suffices = sufficiency(problem);
  const counts = rooms.map(() => classes.map(() => 0));
  const failed = new Set<string>();
  let steps = 0;

  /** Depth is the number of rooms that take something, never more than there are kernels. */
  const fill = (start: number, remaining: readonly number[]): boolean => {
    const visited: string[] = [];
    for (let n = start; n < rooms.length && suffices(n, remaining); n += 1) {
      const state = `${n}:${remaining.join()}`;
      if (failed.has(state)) break;
      visited.push(state);
      const filling = { row: counts[n] as number[], room: rooms[n] as Room, remaining, classes };
      fillFrom(filling, 0);
      do {
        steps += 1;
        if (steps > budget) return false;
        if (filling.row.every((count) => count === 0)) continue;
        const rest = remaining.map((count, c) => count - (filling.row[c] as number));
        if (rest.every((count) => count === 0) || fill(n + 1, rest)) return true;
      } while (nextFilling(filling));
      // The last filling has only the last class in it; where even that is nothing, the room may stay empty.
      const mayStayEmpty = filling.row.every((count) => count === 0);
      filling.row.fill(0);
      if (!mayStayEmpty) break;
    }
    for (const state of visited) failed.add(state);
    return false;
  };

  if (
    fill(
      0,
      classes.map((unit) => unit.members.length),
    )
  )
    return { counts };
  return steps > budget ? 'gave-up' : 'none';
}

interface Filling {
  readonly row: number[];
  readonly room: Room;
  readonly remaining: readonly number[];
  readonly classes: readonly KernelClass[];
}

/** Fills classes `first`.. as full as what the earlier classes leave. */
function fillFrom({ row, room, remaining, classes }: Filling, first: number): void {
  let { cpuMilli, memoryBytes, gpuCount } = room;
  row.fill(0, first);
  for (const [c, unit] of classes.entries()) {
    if (c >= first) {
      row[c] = most({ cpuMilli, memoryBytes, gpuCount }, unit, remaining[c] as number);
      if (room.shares !== undefined) fitDevices(row, c, { shares: room.shares, classes });
    }
    const count = row[c] as number;
    cpuMilli -= count * unit.cpuMilli;
    memoryBytes -= count * unit.memoryBytes;
    gpuCount -= count * unit.gpuCount;
  }
}

/** Lowers the count of class `c` until the devices hold classes 0..c together. */
function fitDevices(
  row: number[],
  c: number,
  { shares, classes }: { readonly shares: ShareRoom; readonly classes: readonly KernelClass[] },
): void {
  const unit = classes[c] as KernelClass;
  if (unit.gpuCount === 0 && unit.gpuMemoryBytes === 0) return;
  if (unit.gpuMemoryBytes > 0) row[c] = Math.min(row[c] as number, manyOf(unit.gpuMemoryBytes, shares.gpuMemoryBytes));
  while ((row[c] as number) > 0 && shares.fits(needOf(row, classes)) !== 'fits') row[c] = (row[c] as number) - 1;
}

const manyOf = (bytes: number, of: number): number => Math.floor(of / bytes);

function needOf(row: readonly number[], classes: readonly KernelClass[]): DeviceNeed {
  let gpuCount = 0;
  const shares: number[] = [];
  for (const [c, unit] of classes.entries()) {
    const count = row[c] as number;
    gpuCount += count * unit.gpuCount;
    for (let k = 0; k < count && unit.gpuMemoryBytes > 0; k += 1) shares.push(unit.gpuMemoryBytes);
  }
  return { gpuCount, shares: shares.sort((a, b) => b - a) };
}

/** The next smaller filling; false when there is none left. */
function nextFilling(filling: Filling): boolean {
  for (let c = filling.classes.length - 2; c >= 0; c -= 1) {
    const count = filling.row[c] as number;
    if (count === 0) continue;
    filling.row[c] = count - 1;
    fillFrom(filling, c + 1);
    return true;
  }
  return false;
}

/** How many of the class a room holds, up to `wanted`. */
function most(room: Room, unit: KernelClass, wanted: number): number {
  let count = wanted;
  if (unit.gpuCount > 0) count = Math.min(count, Math.floor(room.gpuCount / unit.gpuCount));
  if (unit.cpuMilli > 0) count = Math.min(count, Math.floor(room.cpuMilli / unit.cpuMilli));
  if (unit.memoryBytes > 0) count = Math.min(count, Math.floor(room.memoryBytes / unit.memoryBytes));
  return Math.max(0, count);
}

/** Whether rooms n.. could hold what remains: each class alone, and each amount in sum. Exact for a single class. */
function sufficiency({ rooms, classes }: Problem): (n: number, remaining: readonly number[]) => boolean {
  const ofClass = classes.map((unit) => suffixSums(rooms.map((room) => mostAlone(room, unit))));
  const amounts = (['gpuCount', 'cpuMilli', 'memoryBytes'] as const).map((slot) => ({
    ofClass: classes.map((unit) => unit[slot]),
    sums: suffixSums(rooms.map((room) => Math.max(0, room[slot]))),
  }));
  const shareSums = suffixSums(rooms.map((room) => room.shares?.gpuMemoryBytes ?? 0));
  return (n, remaining) =>
    (shareSums[n] as number) >=
      classes.reduce((sum, unit, c) => sum + unit.gpuMemoryBytes * (remaining[c] as number), 0) &&
    ofClass.every((sums, c) => (sums[n] as number) >= (remaining[c] as number)) &&
    amounts.every(({ ofClass: each, sums }) => {
      let needed = 0;
      for (let c = 0; c < each.length; c += 1) needed += (remaining[c] as number) * (each[c] as number);
      return needed <= (sums[n] as number);
    });
}

function mostAlone(room: Room, unit: KernelClass): number {
  const row = [most(room, unit, unit.members.length)];
  if (room.shares !== undefined) fitDevices(row, 0, { shares: room.shares, classes: [unit] });
  return row[0] as number;
}

function suffixSums(values: readonly number[]): Float64Array {
  const sums = new Float64Array(values.length + 1);
  for (let i = values.length - 1; i >= 0; i -= 1) sums[i] = (sums[i + 1] as number) + (values[i] as number);
  return sums;
}
