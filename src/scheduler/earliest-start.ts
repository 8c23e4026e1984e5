import type { PlacedKernel } from '../contract/plan.js';
import type { SnapshotPending } from '../contract/snapshot.js';
import { earliestGang } from './earliest-gang.js';
import { earliestOn, notBefore, type SpanAsk, windowAt } from './earliest-on-line.js';
import type { View } from './line-profile.js';
import type { NodeLine } from './node-line.js';
import { lengthsOf } from './runtime-bounds.js';
import { seatKernels } from './seat-kernels.js';
import { spanUnitOf, type WindowRow } from './span-ask.js';
import { profileIn, type Timeline, viewOf } from './timeline.js';

/** A session that looks for its start. */
export interface Seeker {
  readonly session: SnapshotPending;
  /** Nodes that it may use: 1 in each one's place. */
  readonly mask: Uint8Array;
  /** Equal for sessions that no node tells apart. */
  readonly shape: string;
  /** Not before this. */
  readonly fromMs: number;
}

export interface Start {
  /** Infinity: there is none. */
  readonly atMs: number;
  /** Nodes each of which has room for all of it from then on. Empty when it lies on several, or has no start. */
  readonly nodes: readonly number[];
  /** Where it lies, when it needs several nodes. */
  readonly spread: readonly PlacedKernel[] | null;
}

/** Per node a lower bound of the start; of a shape with its length exact when its version is the node's. */
interface Memory {
  readonly lowerMs: Float64Array;
  readonly versions: Int32Array;
  gangMs: number;
  epoch: number;
}

/** Remembered within a pass. Room only becomes less in it, so that an old answer is a lower bound. */
export type StartMemory = Map<string, Memory>;

/**
 * The earliest start at which all its kernels have room for as long as it may run, and nobody who has room already is in
 * its way. What lies after `limitMs` is not looked at: the answer is then some moment after the limit.
 */
export function earliestStart(
  { timeline, memory }: { readonly timeline: Timeline; readonly memory: StartMemory },
  seeker: Seeker,
  limitMs = Number.POSITIVE_INFINITY,
): Start {
  const { session, fromMs, shape } = seeker;
  const view = viewOf(timeline, session);
  const ask = askOf(seeker);
  const { maxMs, minMs } = ask;
  const { gpuModel } = ask.unit;
  const known = memoryOf(memory, timeline, `${view.key};${fromMs};${maxMs};${minMs};${shape}`);
  const { cpuMilli, memoryBytes, gpuCount, shares } = ask.unit;
  const unitKey = `${cpuMilli},${memoryBytes},${gpuCount},${shares.join('+')}`;
  const floor = memoryOf(memory, timeline, `floor;${view.key};${fromMs};${unitKey}`);
  const single = earliestSingle(timeline, { mask: seeker.mask, ask, view, known, floor }, limitMs);
  if (session.clusterMode === 'single-node' || session.kernels.length === 1 || single.atMs <= fromMs) return single;
  const from = Math.max(fromMs, known.gangMs);
  const gang = earliestGang(
    timeline,
    { ...seeker, ask: { ...ask, fromMs: from }, view, gpuModel },
    Math.min(limitMs, single.atMs),
  );
  known.gangMs = Math.max(known.gangMs, gang.atMs);
  return gang.kernels === null || gang.atMs >= single.atMs
    ? single
    : { atMs: gang.atMs, nodes: [], spread: gang.kernels };
}

function askOf({ session, fromMs }: Seeker): SpanAsk {
  const gpuModel = session.kernels.some(({ slots }) => slots.gpuCount + slots.gpuMemoryBytes > 0)
    ? session.gpuModel
    : null;
  return { unit: spanUnitOf(session.kernels, gpuModel), fromMs, ...lengthsOf(session) };
}

/** Whether node `i` has room for all of it from the first moment on, for as long as it may run. */
export function startsAtOnce(timeline: Timeline, seeker: Seeker, i: number): boolean {
  const line = timeline.lines[i] as NodeLine;
  const profile = profileIn(timeline, viewOf(timeline, seeker.session), i);
  return earliestOn({ line, profile, row: timeline.row }, askOf(seeker), seeker.fromMs) === seeker.fromMs;
}

const UNKNOWN = Number.NEGATIVE_INFINITY;

function memoryOf(memory: StartMemory, { lines, epoch }: Timeline, key: string): Memory {
  const known = memory.get(key);
  if (known !== undefined && known.epoch === epoch) return known;
  const size = lines.length;
  const made = {
    lowerMs: new Float64Array(size).fill(UNKNOWN),
    versions: new Int32Array(size).fill(-1),
    gangMs: Number.NEGATIVE_INFINITY,
    epoch,
  };
  memory.set(key, made);
  return made;
}

interface SingleSearch {
  readonly mask: Uint8Array;
  readonly ask: SpanAsk;
  readonly view: View;
  readonly known: Memory;
  /** Of all requests for the same amounts, however long they may run. */
  readonly floor: Memory;
}

function earliestSingle(timeline: Timeline, search: SingleSearch, limitMs: number): Start {
  const { mask } = search;
  let bestMs = limitMs;
  let nodes: number[] = [];
  // The node that may be the first is looked at first: it spares most others.
  const first = lowestBound(timeline, search);
  if (first < 0) return { atMs: Number.POSITIVE_INFINITY, nodes, spread: null };
  bestMs = Math.min(bestMs, exactly(timeline, search, { i: first, limitMs: bestMs }));
  let afterMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < mask.length; i += 1) {
    if (mask[i] === 0) continue;
    const atMs = exactly(timeline, search, { i, limitMs: bestMs });
    if (atMs > bestMs) {
      if (atMs < afterMs) afterMs = atMs;
      continue;
    }
    if (atMs < bestMs) nodes = [];
    bestMs = atMs;
    if (Number.isFinite(atMs)) nodes.push(i);
  }
  return nodes.length > 0 ? { atMs: bestMs, nodes, spread: null } : { atMs: afterMs, nodes, spread: null };
}

/** Brings the lower bounds up to what is known without regard to lengths. The node with the lowest, -1 without nodes. */
function lowestBound(timeline: Timeline, { mask, ask, view, known, floor }: SingleSearch): number {
  const { lines } = timeline;
  const { lowerMs } = known;
  let first = -1;
  let firstMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < mask.length; i += 1) {
    if (mask[i] === 0) continue;
    const { version } = lines[i] as NodeLine;
    if (floor.versions[i] !== version) {
      floor.lowerMs[i] = notBefore(profileIn(timeline, view, i), ask);
      floor.versions[i] = version;
    }
    const floorMs = floor.lowerMs[i] as number;
    if (floorMs > (lowerMs[i] as number)) lowerMs[i] = floorMs;
    if (first < 0 || (lowerMs[i] as number) < firstMs) {
      first = i;
      firstMs = lowerMs[i] as number;
    }
  }
  return first;
}

/** Exact up to the limit, some moment after it beyond. */
function exactly(
  timeline: Timeline,
  { ask, view, known }: SingleSearch,
  { i, limitMs }: { i: number; limitMs: number },
): number {
  const lower = known.lowerMs[i] as number;
  const line = timeline.lines[i] as NodeLine;
  if (lower > limitMs || known.versions[i] === line.version) return lower;
  const profile = profileIn(timeline, view, i);
  const atMs = earliestOn({ line, profile, row: timeline.row }, ask, limitMs);
  known.lowerMs[i] = atMs;
  known.versions[i] = atMs > limitMs && Number.isFinite(atMs) ? -1 : line.version;
  return atMs;
}

/** Nodes that are compared for a reservation; more of them bring little and cost time. */
const COMPARED_MAX = 16;

/** The rooms for a start that was found: of several nodes the one that the policy prefers among the first by name. */
export function roomsAt(timeline: Timeline, seeker: Seeker, start: Start): readonly PlacedKernel[] {
  if (start.spread !== null) return start.spread;
  const { session } = seeker;
  const view = viewOf(timeline, session);
  const { maxMs, minMs } = lengthsOf(session);
  const unit = spanUnitOf(session.kernels, session.gpuModel);
  const rowOf = (i: number): WindowRow => {
    const line = timeline.lines[i] as NodeLine;
    const row = { cpuMilli: 0, memoryBytes: 0, free: new Float64Array(line.free.length) };
    windowAt(
      { line, profile: profileIn(timeline, view, i), row },
      { unit, fromMs: start.atMs, maxMs, minMs },
      start.atMs,
    );
    return row;
  };
  const rows = start.nodes.slice(0, COMPARED_MAX).map((i) => ({ line: timeline.lines[i] as NodeLine, row: rowOf(i) }));
  const best = rows.reduce((a, b) => (isPreferred(timeline, b, a) ? b : a));
  return seatKernels(best.line, best.row, { kernels: session.kernels, gpuModel: session.gpuModel });
}

interface Offer {
  readonly line: NodeLine;
  readonly row: WindowRow;
}

/** By the amounts left in the policy's order, the most first when it disperses; a tie stays with the first by name. */
function isPreferred({ policy }: Timeline, a: Offer, b: Offer): boolean {
  const sign = policy.placement === 'dispersed' || policy.placement === 'least-allocated' ? 1 : -1;
  for (const slot of policy.slotOrder) {
    const more = (amountIn(a, slot) - amountIn(b, slot)) * sign;
    if (more !== 0) return more > 0;
  }
  return false;
}

function amountIn({ line, row }: Offer, slot: Timeline['policy']['slotOrder'][number]): number {
  if (slot === 'cpuMilli' || slot === 'memoryBytes') return row[slot];
  let count = 0;
  let bytes = 0;
  for (let d = 0; d < line.free.length; d += 1) {
    const free = row.free[d] as number;
    if (free === line.whole[d]) count += 1;
    bytes += Math.max(0, free);
  }
  return slot === 'gpuCount' ? count : bytes;
}
