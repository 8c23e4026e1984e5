import type { Attempt, Taken } from './assignment.js';
import type { Backfill } from './backfill.js';
import type { Demand } from './demand.js';
import { windowAt, windowRow } from './earliest-on-line.js';
import { earliestStart, type Seeker, startsAtOnce } from './earliest-start.js';
import type { NodeLine } from './node-line.js';
import { place, unplace } from './place.js';
import type { Ranking } from './ranking.js';
import { occupy, type Room, vacate } from './rooms.js';
import { lengthsOf } from './runtime-bounds.js';
import { spanUnitOf } from './span-ask.js';
import { profileIn, viewOf } from './timeline.js';

interface Ahead {
  readonly ranking: Ranking;
  readonly backfill: Backfill;
  readonly seeker: Seeker;
}

/**
 * Places a session now, by the policy, on what nobody ahead of it is promised for as long as it may run; taken from the
 * table. `delays`: there is room now, but not for that long.
 */
export function placeAhead(ahead: Ahead, demand: Demand): Attempt | 'delays' {
  const { ranking, backfill, seeker } = ahead;
  const { nowMs } = backfill.timeline;
  const start = earliestStart(backfill, seeker, nowMs);
  if (start.atMs > nowMs) return 'delays';
  if (start.spread !== null) return behindShadows(ahead, everyNode(ranking), () => place(ranking, demand, seeker.mask));
  const mask = new Uint8Array(ranking.table.nodes.length);
  for (const i of start.nodes) mask[i] = 1;
  const chosen = place(ranking, demand, mask);
  if (typeof chosen === 'string') return chosen;
  // The node stands; its devices have to be those that stay free.
  unplace(ranking, demand, chosen);
  const node = chosen.nodeOfKernel[0] as number;
  mask.fill(0);
  mask[node] = 1;
  const placed = behindShadows(ahead, [node], () => place(ranking, demand, mask));
  return typeof placed === 'string' ? placed : { ...placed, explanation: chosen.explanation };
}

/**
 * Whether room that was found on one node, without regard to reservations, is what `placeAhead` finds too: the node has it for long
 * enough, and nobody is promised any of the node later. It is the first of all nodes, so it is the first of those that delay nobody.
 */
export function isAhead({ backfill: { timeline }, seeker }: Omit<Ahead, 'ranking'>, { nodeOfKernel }: Taken): boolean {
  const i = nodeOfKernel[0] as number;
  if (nodeOfKernel.some((node) => node !== i)) return false;
  const { takes } = timeline.lines[i] as NodeLine;
  return !takes.some(({ fromMs }) => fromMs > timeline.nowMs) && startsAtOnce(timeline, seeker, i);
}

const everyNode = ({ table }: Ranking): readonly number[] => [...table.nodes.keys()];

/** Looks at the nodes as they are all through the session's time: what others are promised of it counts as taken. */
function behindShadows<Result>(ahead: Ahead, nodes: readonly number[], look: () => Result): Result {
  const shadows = nodes.flatMap((i) => shadowsOn(ahead, i));
  for (const room of shadows) occupy(ahead.ranking, room);
  const result = look();
  for (const room of shadows) vacate(ahead.ranking, room);
  return result;
}

/** What is free on the node now, but not as long as the session may run. */
function shadowsOn(
  { ranking: { table }, backfill: { timeline }, seeker: { session } }: Ahead,
  i: number,
): readonly Room[] {
  const line = timeline.lines[i] as NodeLine;
  const { nowMs } = timeline;
  if (!line.takes.some(({ fromMs }) => fromMs > nowMs)) return [];
  const row = windowRow(line.free.length);
  const ask = { unit: spanUnitOf([], null), fromMs: nowMs, ...lengthsOf(session) };
  windowAt({ line, profile: profileIn(timeline, viewOf(timeline, session), i), row }, ask, nowMs);
  const cpuMilli = Math.max(0, (table.cpuMilli[i] as number) - row.cpuMilli);
  const memoryBytes = Math.max(0, (table.memoryBytes[i] as number) - row.memoryBytes);
  const first = table.devices.start[i] as number;
  const { node } = line;
  const rooms = node.devices.map((device, d): Room => {
    const gpuMemoryBytes = Math.max(0, (table.devices.leftBytes[first + d] as number) - (row.free[d] as number));
    return { node: node.name, deviceIds: [device.id], slots: { ...NONE, gpuMemoryBytes } };
  });
  return [
    { node: node.name, deviceIds: [], slots: { ...NONE, cpuMilli, memoryBytes } },
    ...rooms.filter(({ slots }) => slots.gpuMemoryBytes > 0),
  ];
}

const NONE = { cpuMilli: 0, memoryBytes: 0, gpuCount: 0, gpuMemoryBytes: 0 };
