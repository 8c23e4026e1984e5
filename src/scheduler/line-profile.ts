import type { Lease, NodeLine, Room, Take } from './node-line.js';

/** Through whose eyes a line is seen: when those who run are gone for him, and which takes he need not wait out. */
export interface View {
  readonly key: string;
  readonly endOf: (lease: Lease) => number;
  /** Takes whose owner may stop him once his minimum has passed. Null when there is none. */
  readonly isSoft: ((take: Take) => boolean) | null;
  /** What was worked out of each line, of which version. */
  readonly seen: ({ readonly profile: Profile; readonly version: number } | undefined)[];
}

interface Amounts {
  readonly cpuMilli: Float64Array;
  readonly memoryBytes: Float64Array;
  /** `size` rows of one entry a device. */
  readonly free: Float64Array;
}

/** What is left on a node from each moment in `timesMs` until the next; the first is now. Amounts may be below 0. */
export interface Profile extends Amounts {
  readonly size: number;
  readonly timesMs: Float64Array;
  /** The same without the soft takes. */
  readonly soft: Amounts | null;
  /** Per segment the devices that nobody holds any of, of any model and without the soft takes: more there never are. */
  readonly wholeCounts: Int32Array;
}

interface Event {
  readonly atMs: number;
  readonly room: Room;
  readonly sign: 1 | -1;
  readonly isSoft: boolean;
}

export function profileOf(line: NodeLine, view: Pick<View, 'endOf' | 'isSoft'>, nowMs: number): Profile {
  const events = eventsOf(line, view).toSorted((a, b) => a.atMs - b.atMs);
  const moments = [nowMs];
  for (const { atMs } of events) if (atMs > (moments.at(-1) as number)) moments.push(atMs);
  const of = { line, events, moments };
  const hard = amountsOver(of, true);
  const soft = events.some(({ isSoft }) => isSoft) ? amountsOver(of, false) : null;
  const size = moments.length;
  return {
    size,
    timesMs: Float64Array.from(moments),
    ...hard,
    soft,
    wholeCounts: countWhole(line, soft ?? hard, size),
  };
}

function countWhole({ whole }: NodeLine, { free }: Amounts, size: number): Int32Array {
  const width = whole.length;
  const counts = new Int32Array(size);
  for (let s = 0; s < size; s += 1) {
    let count = 0;
    for (let d = 0; d < width; d += 1) if (free[s * width + d] === whole[d]) count += 1;
    counts[s] = count;
  }
  return counts;
}

/** What comes before now, or never, is no event: a take that has begun is in force from the first moment. */
function eventsOf({ leases, takes }: NodeLine, { endOf, isSoft }: Pick<View, 'endOf' | 'isSoft'>): Event[] {
  const events: Event[] = [];
  for (const lease of leases) {
    const atMs = endOf(lease);
    if (Number.isFinite(atMs)) events.push({ atMs, room: lease, sign: 1, isSoft: false });
  }
  for (const take of takes) {
    const soft = isSoft?.(take) ?? false;
    events.push({ atMs: take.fromMs, room: take, sign: -1, isSoft: soft });
    const atMs = endOfTake(take, { endOf });
    if (Number.isFinite(atMs)) events.push({ atMs, room: take, sign: 1, isSoft: soft });
  }
  return events;
}

/** When the room of a take comes back: before the latest end for a view whose session may stop its owner by then. */
export function endOfTake(take: Take, { endOf }: Pick<View, 'endOf'>): number {
  const { minUntilMs, untilMs } = take;
  return minUntilMs === undefined ? untilMs : endOf({ ...take, minMs: minUntilMs, maxMs: untilMs });
}

function amountsOver(
  { line, events, moments }: { line: NodeLine; events: readonly Event[]; moments: readonly number[] },
  withSoft: boolean,
): Amounts {
  const width = line.free.length;
  const cpuMilli = new Float64Array(moments.length);
  const memoryBytes = new Float64Array(moments.length);
  const free = new Float64Array(moments.length * width);
  let cpu = line.cpuMilli;
  let memory = line.memoryBytes;
  const now = Float64Array.from(line.free);
  let next = 0;
  for (const [s, moment] of moments.entries()) {
    for (; next < events.length && (events[next] as Event).atMs <= moment; next += 1) {
      const { room, sign, isSoft } = events[next] as Event;
      if (isSoft && !withSoft) continue;
      cpu += sign * room.cpuMilli;
      memory += sign * room.memoryBytes;
      for (const { index, bytes } of room.devices) now[index] = (now[index] as number) + sign * bytes;
    }
    cpuMilli[s] = cpu;
    memoryBytes[s] = memory;
    free.set(now, s * width);
  }
  return { cpuMilli, memoryBytes, free };
}
