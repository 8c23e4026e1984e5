import { gapLimitMs } from '../../lifecycle/measurement-gap.js';

/** A device's counters as its node told them; `busyPercent` over the last 5 min. */
export interface SampledDevice {
  readonly id: string;
  readonly busyMs: number;
  readonly observedMs: number;
  readonly memoryBytes: number | null;
  readonly busyPercent?: number | null;
}

/** One kernel's counters at one moment of the ledger's clock. */
export interface Sample {
  readonly atMs: number;
  readonly everyMs: number;
  readonly cpuNanoseconds: number;
  readonly memoryBytes: number;
  readonly devices: readonly SampledDevice[];
}

/** What the kernel was promised. */
export interface Promised {
  readonly memoryBytes: number;
  readonly devices: readonly { readonly id: string; readonly memoryBytes: number }[];
}

export interface Known {
  readonly last: Sample & { readonly segment: number };
  /** The earliest of the same segment within the last 5 min: rates are from it to now. */
  readonly base: Sample;
}

export interface Derived {
  readonly segment: number;
  readonly devices: readonly SampledDevice[];
  /** null for the first of a segment: there is nothing to compare with. */
  readonly cpuMilli: number | null;
  readonly gpuPercent: number | null;
  readonly gpuMemoryPercent: number | null;
  readonly memoryPercent: number;
  /** Of its devices together, since the last sample, also over a gap: counters lose nothing. */
  readonly busyMs: number;
  readonly observedMs: number;
}

const deviceIn = ({ devices }: Sample, id: string): SampledDevice | undefined => devices.find((one) => one.id === id);

/** A counter went back (the container or the agent's memory is a new one), or too much time lies between. */
export function breaks(last: Sample, next: Sample): boolean {
  if (next.atMs - last.atMs > gapLimitMs(last.everyMs)) return true;
  if (next.cpuNanoseconds < last.cpuNanoseconds) return true;
  return last.devices.some((before) => {
    const now = deviceIn(next, before.id);
    return now !== undefined && (now.busyMs < before.busyMs || now.observedMs < before.observedMs);
  });
}

/** Of a device that the driver told of for less than half of the time nothing is known. */
function busyPercent(base: Sample, next: Sample, id: string): number | null {
  const [before, now] = [deviceIn(base, id), deviceIn(next, id)];
  if (before === undefined || now === undefined) return null;
  const observedMs = now.observedMs - before.observedMs;
  if (observedMs * 2 < next.atMs - base.atMs || observedMs <= 0) return null;
  return Math.min(100, (100 * (now.busyMs - before.busyMs)) / observedMs);
}

/** The largest, but unknown as soon as one is: a session is idle only when all of it is known to be. */
const largest = (values: readonly (number | null)[]): number | null =>
  values.length === 0 || values.some((value) => value === null) ? null : Math.max(...values.map((value) => value ?? 0));

function rates(base: Sample | null, next: Sample, { devices }: Promised) {
  const elapsedMs = base === null ? 0 : next.atMs - base.atMs;
  if (base === null || elapsedMs <= 0) return { cpuMilli: null, busy: new Map<string, number | null>() };
  const busy = new Map(devices.map(({ id }) => [id, busyPercent(base, next, id)]));
  return { cpuMilli: (next.cpuNanoseconds - base.cpuNanoseconds) / elapsedMs / 1000, busy };
}

function memoryShare(next: Sample, { id, memoryBytes }: Promised['devices'][number]): number | null {
  const used = deviceIn(next, id)?.memoryBytes ?? null;
  return used === null || memoryBytes === 0 ? null : (100 * used) / memoryBytes;
}

/** A counter that went back began anew at 0. Never more than the time that passed. */
function grown(before: number, now: number, elapsedMs: number): number {
  return Math.min(now >= before ? now - before : now, elapsedMs);
}

function useSince(last: Sample | null, next: Sample): Pick<Derived, 'busyMs' | 'observedMs'> {
  const sums = { busyMs: 0, observedMs: 0 };
  if (last === null) return sums;
  const elapsedMs = Math.max(0, next.atMs - last.atMs);
  for (const before of last.devices) {
    const now = deviceIn(next, before.id);
    if (now === undefined) continue;
    sums.busyMs += grown(before.busyMs, now.busyMs, elapsedMs);
    sums.observedMs += grown(before.observedMs, now.observedMs, elapsedMs);
  }
  return sums;
}

/** Rates and use of one kernel from its counters now and before. Pure; the store keeps what it answers. */
export function derive(known: Known | null, told: Sample, promised: Promised): Derived {
  const held = new Set(promised.devices.map(({ id }) => id));
  const next = { ...told, devices: told.devices.filter(({ id }) => held.has(id)) };
  const isNew = known !== null && breaks(known.last, next);
  const { cpuMilli, busy } = rates(known === null || isNew ? null : known.base, next, promised);
  return {
    segment: known === null ? 1 : known.last.segment + (isNew ? 1 : 0),
    devices: next.devices.map((device) => ({ ...device, busyPercent: busy.get(device.id) ?? null })),
    cpuMilli,
    gpuPercent: largest(promised.devices.map(({ id }) => busy.get(id) ?? null)),
    gpuMemoryPercent: largest(promised.devices.map((device) => memoryShare(next, device))),
    memoryPercent: promised.memoryBytes === 0 ? 0 : (100 * next.memoryBytes) / promised.memoryBytes,
    ...useSince(known?.last ?? null, next),
  };
}

const HOUR_MS = 3_600_000;

/** `amount` over [fromMs, toMs), cut at full hours, each its part by time; the parts add up exactly. */
export function overHours(
  amount: number,
  fromMs: number,
  toMs: number,
): readonly { readonly hourMs: number; readonly amount: number }[] {
  const until = (ms: number): number =>
    Math.round((amount * (Math.min(ms, toMs) - fromMs)) / Math.max(1, toMs - fromMs));
  const parts = [];
  for (let hourMs = Math.floor(fromMs / HOUR_MS) * HOUR_MS; hourMs < toMs; hourMs += HOUR_MS) {
    const part = until(hourMs + HOUR_MS) - until(Math.max(hourMs, fromMs));
    if (part > 0) parts.push({ hourMs, amount: part });
  }
  return parts;
}
