import type { GroupPolicy } from '../contract/group.js';
import type { SnapshotNode, SnapshotPending, SnapshotRoom, SnapshotRunning } from '../contract/snapshot.js';
import { windowRow } from './earliest-on-line.js';
import type { FairShare } from './fair-share.js';
import { type Profile, profileOf, type View } from './line-profile.js';
import { type Lease, type NodeLine, nodeLine, type Owner, roomOf, type Take } from './node-line.js';
import { boundsOfRunning, mayStop } from './runtime-bounds.js';
import type { WindowRow } from './span-ask.js';
import { budgetView } from './stop-rights.js';

/** The room of a whole group in time. Grows only fuller within a pass, but for those who are told to go. */
export interface Timeline {
  readonly nowMs: number;
  readonly policy: GroupPolicy;
  /** Whose budgets say who may stop whom; null: the policy of preemption does. */
  readonly fairShare: FairShare | null;
  readonly lines: readonly NodeLine[];
  readonly indexOf: ReadonlyMap<string, number>;
  readonly running: readonly SnapshotRunning[];
  readonly row: WindowRow;
  readonly views: Map<string, View>;
  /** The lowest priority among those who run and may be stopped, by the id of the policy's scope. */
  readonly lowestRunning: ReadonlyMap<string, number>;
  /** The highest priority among those who have room in the future, by the same ids. */
  readonly highestReserver: Map<string, number>;
  /** Raised when room is freed earlier than it was known: what was remembered as a lower bound is none any more. */
  epoch: number;
  /** Raised when room is taken for later, or such room is given up. */
  claimsVersion: number;
}

interface TimelineInput {
  /** By name, as the tables have them. */
  readonly nodes: readonly SnapshotNode[];
  readonly running: readonly SnapshotRunning[];
  readonly policy: GroupPolicy;
  readonly nowMs: number;
  readonly fairShare: FairShare | null;
}

/** What a node's use is not explained by `running` never ends. */
export function timelineOf({ nodes, running, policy, nowMs, fairShare }: TimelineInput): Timeline {
  const lines = nodes.map((node, index) => nodeLine(node, index, policy.allowUnenforcedSharing));
  const indexOf = new Map(nodes.map(({ name }, index) => [name, index]));
  const widest = nodes.reduce((most, { devices }) => Math.max(most, devices.length), 0);
  const timeline: Timeline = {
    nowMs,
    policy,
    fairShare,
    lines,
    indexOf,
    running,
    row: windowRow(widest),
    views: new Map(),
    lowestRunning: lowestByScope(policy, running),
    highestReserver: new Map(),
    epoch: 0,
    claimsVersion: 0,
  };
  const leases = new Map<NodeLine, Lease[]>();
  for (const session of running) {
    const bounds = boundsOfRunning(session, nowMs);
    for (const { line, room } of roomsOf(timeline, session.kernels)) {
      const lease = { ...room, ...bounds, owner: session };
      const known = leases.get(line);
      if (known === undefined) leases.set(line, [lease]);
      else known.push(lease);
    }
  }
  for (const [line, all] of leases) line.leases = all;
  return timeline;
}

type RoomById = Pick<SnapshotRoom, 'node' | 'deviceIds' | 'slots'>;

/** Kernels on nodes that are gone are left out. */
function roomsOf({ lines, indexOf }: Timeline, kernels: readonly RoomById[]) {
  return kernels.flatMap((kernel) => {
    const line = lines[indexOf.get(kernel.node) ?? -1];
    return line === undefined ? [] : [{ line, room: roomOf(line.node, kernel) }];
  });
}

/** Keeps the rooms from one moment to another. */
export function takeInTime(
  timeline: Timeline,
  kernels: readonly RoomById[],
  span: Pick<Take, 'owner' | 'fromMs' | 'untilMs' | 'minUntilMs'>,
): void {
  for (const { line, room } of roomsOf(timeline, kernels)) {
    line.takes = [...line.takes, { ...room, ...span }];
    line.version += 1;
  }
  if (span.fromMs <= timeline.nowMs) return;
  timeline.claimsVersion += 1;
  const scope = scopeId(timeline.policy, span.owner);
  const known = timeline.highestReserver.get(scope) ?? -1;
  timeline.highestReserver.set(scope, Math.max(known, span.owner.priority));
}

/** Sessions that are told to go: their room comes back by then. */
export function goneInTime(timeline: Timeline, goneMs: ReadonlyMap<string, number>): void {
  if (goneMs.size === 0) return;
  const names = timeline.running.filter(({ id }) => goneMs.has(id)).flatMap(({ kernels }) => kernels);
  for (const i of new Set(names.map(({ node }) => timeline.indexOf.get(node) ?? -1))) {
    const line = timeline.lines[i];
    if (line === undefined) continue;
    line.leases = line.leases.map((lease) => {
      const gone = goneMs.get(lease.owner.id);
      return gone === undefined ? lease : { ...lease, maxMs: gone, minMs: gone };
    });
    line.version += 1;
  }
  // Whether somebody moves the head now does not depend on who leaves later.
  if (timeline.fairShare?.head == null || timeline.policy.backfill !== 'easy') timeline.epoch += 1;
}

/** Gives up all that somebody has in the future: a hold that is entered, or dropped. */
export function releaseInTime(timeline: Timeline, ownerId: string): void {
  for (const line of timeline.lines) {
    if (!line.takes.some(({ owner }) => owner.id === ownerId)) continue;
    line.takes = line.takes.filter(({ owner }) => owner.id !== ownerId);
    line.version += 1;
  }
  timeline.epoch += 1;
  timeline.claimsVersion += 1;
}

/**
 * How the session sees the timeline. Sessions that could stop the same ones, and be stopped by the same ones, share a
 * view; without preemption all share one.
 */
export function viewOf(timeline: Timeline, session: SnapshotPending): View {
  const { views, lines, fairShare, nowMs } = timeline;
  const isHeadsAlone = timeline.policy.backfill === 'easy';
  const sight =
    fairShare === null ? policySight(timeline, session) : budgetView(fairShare, session, { nowMs, isHeadsAlone });
  const known = views.get(sight.key);
  if (known !== undefined) return known;
  const view: View = { ...sight, seen: new Array<View['seen'][number]>(lines.length).fill(undefined) };
  views.set(view.key, view);
  return view;
}

function policySight(timeline: Timeline, session: Owner): Pick<View, 'key' | 'endOf' | 'isSoft'> {
  const { policy, lowestRunning, highestReserver } = timeline;
  const scope = scopeId(policy, session);
  const { enabled } = policy.preemption;
  const stops = enabled && (lowestRunning.get(scope) ?? Number.POSITIVE_INFINITY) < session.priority;
  const isStopped = enabled && session.preemptible && (highestReserver.get(scope) ?? -1) > session.priority;
  const key = stops || isStopped ? `${stops},${isStopped},${session.priority},${scope}` : '';
  return {
    key,
    endOf: stops
      ? (lease) => (mayStop(policy, session, lease.owner) ? lease.minMs : lease.maxMs)
      : (lease) => lease.maxMs,
    isSoft: isStopped ? (take) => take.fromMs > timeline.nowMs && mayStop(policy, take.owner, session) : null,
  };
}

const scopeId = ({ preemption: { scope } }: GroupPolicy, owner: Owner): string =>
  scope === 'group' ? '' : owner[`${scope}Id`];

function lowestByScope(policy: GroupPolicy, running: readonly SnapshotRunning[]): ReadonlyMap<string, number> {
  const lowest = new Map<string, number>();
  for (const session of policy.preemption.enabled ? running : []) {
    const scope = scopeId(policy, session);
    const known = lowest.get(scope) ?? Number.POSITIVE_INFINITY;
    if (session.preemptible && session.priority < known) lowest.set(scope, session.priority);
  }
  return lowest;
}

/** What is left on a node over time, as the view sees it; worked out again only after a change. */
export function profileIn({ lines, nowMs }: Timeline, view: View, i: number): Profile {
  const line = lines[i] as NodeLine;
  const known = view.seen[i];
  if (known !== undefined && known.version === line.version) return known.profile;
  const profile = profileOf(line, view, nowMs);
  view.seen[i] = { profile, version: line.version };
  return profile;
}
