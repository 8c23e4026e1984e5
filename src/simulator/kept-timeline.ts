import type { GroupPolicy } from '../contract/group-policy.js';
import type { SnapshotNode, SnapshotRoom, SnapshotRunning } from '../contract/snapshot.js';
import { windowRow } from '../scheduler/earliest-on-line.js';
import { type Lease, type NodeLine, nodeLine, roomOf } from '../scheduler/node-line.js';
import { boundsOfRunning } from '../scheduler/runtime-bounds.js';
import type { Timeline } from '../scheduler/timeline.js';

interface Held {
  readonly session: SnapshotRunning;
  readonly room: SnapshotRoom;
}

/**
 * The room in time of a group in which nobody is stopped: a node is worked out again only when somebody came or left, or
 * a pass took some of it for later. The nodes are read as they are then.
 */
export class KeptTimeline {
  /** Of no nodes: what is the same for all. */
  readonly #blank: Timeline;
  readonly #nodes: readonly SnapshotNode[];
  readonly #policy: GroupPolicy;
  readonly #indexOf: ReadonlyMap<string, number>;
  readonly #lines: NodeLine[];
  readonly #held: readonly Map<string, Held>[];
  readonly #changed: Set<number>;
  readonly #widest: number;
  readonly #views: Timeline['views'] = new Map();

  /** By name, as the tables have them. */
  constructor(nodes: readonly SnapshotNode[], blank: Timeline) {
    const { policy } = blank;
    this.#blank = blank;
    this.#nodes = nodes;
    this.#policy = policy;
    this.#indexOf = new Map(nodes.map(({ name }, index) => [name, index]));
    this.#lines = nodes.map((node, index) => nodeLine(node, index, policy.allowUnenforcedSharing));
    this.#held = nodes.map(() => new Map<string, Held>());
    this.#changed = new Set(nodes.keys());
    this.#widest = nodes.reduce((most, { devices }) => Math.max(most, devices.length), 0);
  }

  begin(session: SnapshotRunning): void {
    for (const room of session.kernels) this.#on(room)?.set(room.kernelId, { session, room });
  }

  end({ kernels }: SnapshotRunning): void {
    for (const room of kernels) this.#on(room)?.delete(room.kernelId);
  }

  /** For one pass: what it takes of it is forgotten when the next one asks. */
  at(nowMs: number): Timeline {
    for (const [i, line] of this.#lines.entries()) if (line.takes.length > 0) this.#changed.add(i);
    for (const i of this.#changed) this.#lines[i] = this.#lineOf(i, nowMs);
    this.#changed.clear();
    for (const { seen } of this.#views.values())
      for (const known of seen) if (known !== undefined) known.profile.timesMs[0] = nowMs;
    return {
      ...this.#blank,
      nowMs,
      lines: this.#lines,
      indexOf: this.#indexOf,
      row: windowRow(this.#widest),
      views: this.#views,
      highestReserver: new Map(),
    };
  }

  #on({ node }: SnapshotRoom): Map<string, Held> | undefined {
    const i = this.#indexOf.get(node);
    if (i === undefined) return undefined;
    this.#changed.add(i);
    return this.#held[i];
  }

  #lineOf(i: number, nowMs: number): NodeLine {
    const node = this.#nodes[i] as SnapshotNode;
    const line = nodeLine(node, i, this.#policy.allowUnenforcedSharing);
    line.leases = [...(this.#held[i]?.values() ?? [])].map(
      ({ session, room }): Lease => ({ ...roomOf(node, room), ...boundsOfRunning(session, nowMs), owner: session }),
    );
    line.version = (this.#lines[i]?.version ?? 0) + 1;
    return line;
  }
}
