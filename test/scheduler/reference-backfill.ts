import type { Plan } from '../../src/contract/plan.js';
import type { Snapshot, SnapshotPending, SnapshotRoom } from '../../src/contract/snapshot.js';

/**
 * Backfill in its most obvious form: lists of who has which room from when to when, and every moment tried one after the
 * other. It shares nothing with the scheduler but the types of the contract, and knows no preemption.
 */
interface Occupant {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly rooms: readonly SnapshotRoom[];
}

interface Ask {
  readonly session: SnapshotPending;
  readonly nowMs: number;
}

const CAPACITY = new Set(['insufficient_capacity', 'fragmented', 'delays_reservation']);
const lengthMs = (session: SnapshotPending): number =>
  session.maxRuntimeSeconds === null ? Infinity : (session.maxRuntimeSeconds + session.gracePeriodSeconds) * 1000;

/** What is free of each node all through a span: amounts, and bytes by device. */
interface Free {
  readonly name: string;
  cpuMilli: number;
  memoryBytes: number;
  readonly bytes: Map<string, number>;
}

function freeDuring(
  snapshot: Snapshot,
  occupants: readonly Occupant[],
  [fromMs, untilMs]: readonly [number, number],
): Free[] {
  const moments = [fromMs, ...occupants.map((each) => each.fromMs)].filter((at) => at >= fromMs && at < untilMs);
  const states = [...new Set(moments)].map((at) => stateAt(snapshot, occupants, at));
  const [first, ...rest] = states as [Free[], ...Free[][]];
  for (const state of rest) {
    for (const [n, free] of first.entries()) {
      const other = state[n] as Free;
      free.cpuMilli = Math.min(free.cpuMilli, other.cpuMilli);
      free.memoryBytes = Math.min(free.memoryBytes, other.memoryBytes);
      for (const [id, bytes] of free.bytes) free.bytes.set(id, Math.min(bytes, other.bytes.get(id) as number));
    }
  }
  return first;
}

function stateAt(snapshot: Snapshot, occupants: readonly Occupant[], at: number): Free[] {
  const present = occupants.filter(({ fromMs, untilMs }) => fromMs <= at && at < untilMs);
  return snapshot.nodes
    .filter(({ state }) => state === 'READY')
    .map((node) => {
      const rooms = present.flatMap((each) => each.rooms.filter((room) => room.node === node.name));
      const bytes = new Map<string, number>();
      for (const device of node.devices) {
        const here = rooms.filter(({ deviceIds }) => deviceIds.includes(device.id));
        const isTaken = here.some(({ slots }) => slots.gpuCount > 0);
        const shared = here.reduce((sum, { slots }) => sum + slots.gpuMemoryBytes, 0);
        bytes.set(device.id, !device.healthy || isTaken ? -1 : device.memoryBytes - shared);
      }
      const sum = (slot: 'cpuMilli' | 'memoryBytes') => rooms.reduce((total, { slots }) => total + slots[slot], 0);
      return {
        name: node.name,
        cpuMilli: node.capacity.cpuMilli - sum('cpuMilli'),
        memoryBytes: node.capacity.memoryBytes - sum('memoryBytes'),
        bytes,
      };
    });
}

/** Every way to put the kernels on nodes and devices, until one is found; all on one node unless it may lie on several. */
function fits(snapshot: Snapshot, frees: readonly Free[], session: SnapshotPending): boolean {
  const devices = new Map(snapshot.nodes.flatMap((node) => node.devices.map((device) => [device.id, device] as const)));
  const put = (k: number, only: string | null): boolean => {
    const kernel = session.kernels[k];
    if (kernel === undefined) return true;
    const { cpuMilli, memoryBytes, gpuCount, gpuMemoryBytes } = kernel.slots;
    return frees.some((free) => {
      if (only !== null && free.name !== only) return false;
      if (free.cpuMilli < cpuMilli || free.memoryBytes < memoryBytes) return false;
      const whole = [...free.bytes].filter(([id, bytes]) => bytes === devices.get(id)?.memoryBytes).map(([id]) => id);
      if (whole.length < gpuCount) return false;
      const shares = [...free.bytes].filter(
        ([id, bytes]) => bytes >= gpuMemoryBytes && devices.get(id)?.sharing !== 'none',
      );
      const choices = gpuMemoryBytes === 0 ? [whole.slice(0, gpuCount)] : shares.map(([id]) => [id]);
      return choices.some((ids) => {
        const before = new Map(free.bytes);
        free.cpuMilli -= cpuMilli;
        free.memoryBytes -= memoryBytes;
        for (const id of ids) free.bytes.set(id, gpuCount > 0 ? -1 : (before.get(id) as number) - gpuMemoryBytes);
        const found = put(k + 1, session.clusterMode === 'single-node' ? free.name : null);
        free.cpuMilli += cpuMilli;
        free.memoryBytes += memoryBytes;
        for (const [id, bytes] of before) free.bytes.set(id, bytes);
        return found;
      });
    });
  };
  return put(0, null);
}

const fitsFrom = (snapshot: Snapshot, occupants: readonly Occupant[], { session, nowMs }: Ask): boolean =>
  fits(snapshot, freeDuring(snapshot, occupants, [nowMs, nowMs + lengthMs(session)]), session);

/** The first moment at which somebody leaves, or now, from which it has room for all of its time; Infinity: none. */
export function referenceStart(snapshot: Snapshot, occupants: readonly Occupant[], { session, nowMs }: Ask): number {
  const moments = occupants.map(({ untilMs }) => untilMs).filter((at) => at > nowMs && Number.isFinite(at));
  const tried = [nowMs, ...new Set(moments)].toSorted((a, b) => a - b);
  return tried.find((at) => fitsFrom(snapshot, occupants, { session, nowMs: at })) ?? Infinity;
}

function runningOccupants({ running }: Snapshot, nowMs: number): Occupant[] {
  return running.map(({ startedAt, maxRuntimeSeconds, gracePeriodSeconds, kernels }) => {
    const from = startedAt === null ? nowMs : Date.parse(startedAt);
    const untilMs = maxRuntimeSeconds === null ? Infinity : from + (maxRuntimeSeconds + gracePeriodSeconds) * 1000;
    return { fromMs: -Infinity, untilMs: Math.max(untilMs, nowMs + 1000), rooms: kernels };
  });
}

/** Whether the rooms are free all through their span: what is taken twice, or an empty text. */
function overlap(snapshot: Snapshot, occupants: readonly Occupant[], mine: Occupant): string {
  const moments = [mine.fromMs, ...occupants.map(({ fromMs }) => fromMs)];
  for (const at of moments.filter((moment) => moment >= mine.fromMs && moment < mine.untilMs)) {
    for (const free of stateAt(snapshot, [...occupants, mine], at)) {
      if (free.cpuMilli < 0 || free.memoryBytes < 0) return `${free.name} is over-committed at ${at}`;
    }
    const present = [...occupants, mine].filter(({ fromMs, untilMs }) => fromMs <= at && at < untilMs);
    for (const device of snapshot.nodes.flatMap(({ devices }) => devices)) {
      const here = present.flatMap(({ rooms }) => rooms.filter(({ deviceIds }) => deviceIds.includes(device.id)));
      const whole = here.filter(({ slots }) => slots.gpuCount > 0).length;
      const shared = here.reduce((sum, { slots }) => sum + slots.gpuMemoryBytes, 0);
      if (whole > 1 || (whole === 1 && shared > 0) || shared > device.memoryBytes) return `${device.id} twice at ${at}`;
    }
  }
  return '';
}

/**
 * What is wrong with a plan, session by session in queue order; empty when nothing is. Given the rooms that the plan
 * gives to those ahead, each start is determined: the earliest there is.
 */
export function backfillFaults(snapshot: Snapshot, plan: Plan): string[] {
  const nowMs = Date.parse(plan.now);
  const mode = snapshot.group.policy.backfill;
  const occupants = runningOccupants(snapshot, nowMs);
  const present = [...occupants];
  const faults: string[] = [];
  let reserved = 0;
  for (const session of snapshot.pending) {
    const placed = plan.placed.find(({ sessionId }) => sessionId === session.id);
    const told = plan.waiting.find(({ sessionId }) => sessionId === session.id);
    const reservation = plan.reservations.find(({ sessionId }) => sessionId === session.id);
    const fault = (text: string): void => void faults.push(`${session.name}: ${text}`);
    if (placed !== undefined) {
      const mine = { fromMs: nowMs, untilMs: nowMs + lengthMs(session), rooms: placed.kernels };
      const twice = overlap(snapshot, occupants, mine);
      if (twice !== '') fault(`its placement delays somebody or is taken: ${twice}`);
      occupants.push(mine);
      present.push(mine);
      continue;
    }
    if (told === undefined || !CAPACITY.has(told.reason)) continue;
    const earliest = referenceStart(snapshot, occupants, { session, nowMs });
    if (earliest === nowMs) fault('it could start now and waits');
    const fitsNow = fits(snapshot, stateAt(snapshot, present, nowMs), session);
    if (fitsNow !== (told.reason === 'delays_reservation')) fault(`told ${told.reason}, and fits now: ${fitsNow}`);
    const mustReserve = mode === 'conservative' || (mode === 'easy' && reserved === 0);
    if (!mustReserve) continue;
    reserved += 1;
    if (reservation === undefined) {
      if (Number.isFinite(earliest)) fault(`no reservation, and ${earliest} is possible`);
      if (plan.blockedBy !== session.id) fault('no bound, and yet somebody may pass');
      return faults;
    }
    const atMs = Date.parse(reservation.at);
    if (atMs !== earliest) fault(`reserved in ${atMs - nowMs} ms, possible in ${earliest - nowMs} ms`);
    const mine = { fromMs: atMs, untilMs: atMs + lengthMs(session), rooms: reservation.kernels };
    const twice = overlap(snapshot, occupants, mine);
    if (twice !== '') fault(`its reservation is taken: ${twice}`);
    occupants.push(mine);
  }
  return faults;
}

/** Whether it fits a group in which nobody has anything. */
export const fitsEmpty = (snapshot: Snapshot, session: SnapshotPending): boolean =>
  fits(snapshot, stateAt(snapshot, [], 0), session);
