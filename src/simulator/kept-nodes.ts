import type { SnapshotRunning } from '../contract/snapshot.js';
import { backfillOf, startInTime } from '../scheduler/backfill.js';
import { alarm, msOf } from '../scheduler/moments.js';
import { nodeTable } from '../scheduler/node-table.js';
import { type Pass, type PassBase, startPass } from '../scheduler/plan-pass.js';
import { type Ranking, rankingOf } from '../scheduler/ranking.js';
import { vacate } from '../scheduler/rooms.js';
import { standingRefusals } from '../scheduler/standing-refusals.js';
import { KeptTimeline } from './kept-timeline.js';

/**
 * What a pass would read anew from all nodes and all that runs, kept from one moment to the next: the table of the nodes
 * with their rank, what can never run, and the room in time. The passes that begin with it decide as one that reads
 * everything, where nobody is stopped, no room is held and no node leaves.
 */
export class KeptNodes {
  readonly #ranking: Ranking;
  readonly #timeline: KeptTimeline;
  /** A pass of which nothing was made yet. */
  readonly #blank: Pass;

  /** `base` is the group as it stands, with everybody who runs. */
  constructor(base: PassBase) {
    const { name: group, policy } = base.group;
    const table = nodeTable(base.nodes, 'now', policy);
    this.#ranking = rankingOf(table, policy);
    const standing = standingRefusals({ group, nodes: table.nodes, slotOrder: policy.slotOrder, now: table });
    const blank = startPass({ ...base, nodes: [], running: [] }, base.takenAt);
    this.#blank = { ...blank, nodes: table, ranking: this.#ranking, standing };
    this.#timeline = new KeptTimeline(table.nodes, backfillOf(blank).timeline);
    for (const session of base.running) this.#timeline.begin(session);
  }

  /** What it places is taken from the kept table at once: carry it out. */
  passAt(now: string): Pass {
    const clock = alarm(msOf(now));
    this.#ranking.table.atMs = clock.nowMs;
    return {
      ...this.#blank,
      now,
      clock,
      placed: [],
      waiting: [],
      ends: [],
      started: [],
      fullShapes: new Set(),
      openShapes: new Set(),
      unexplained: [],
    };
  }

  /** Before somebody is considered who may find no room: what backfill makes of all that runs. Without effect the second time. */
  foresee(pass: Pass): void {
    if (pass.backfill !== null || pass.base.group.policy.backfill === 'none') return;
    const timeline = this.#timeline.at(pass.clock.nowMs);
    for (const { session, kernels } of pass.started) startInTime(timeline, session, kernels);
    pass.backfill = { timeline, memory: new Map(), reservations: [] };
  }

  /** Its room was taken by the pass that placed it. */
  began(session: SnapshotRunning): void {
    this.#timeline.begin(session);
  }

  ended(session: SnapshotRunning): void {
    for (const room of session.kernels) vacate(this.#ranking, room);
    this.#timeline.end(session);
  }
}
