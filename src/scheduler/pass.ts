import type { Timestamp } from '../contract/ids.js';
import type { EndOrder, HoldOrder, Placed, PlacedKernel, Plan, StopOrder, Waiting } from '../contract/plan.js';
import type { Snapshot, SnapshotPending, SnapshotRunning } from '../contract/snapshot.js';
import type { Backfill } from './backfill.js';
import type { Demand } from './demand.js';
import type { FairShare } from './fair-share.js';
import type { HeldRoom } from './held-rooms.js';
import type { Alarm } from './moments.js';
import type { NodeTable } from './node-table.js';
import type { Preemption } from './preemption.js';
import type { QuotaBook } from './quota-book.js';
import type { Ranking } from './ranking.js';
import type { Standing } from './standing-refusals.js';

/** All that a pass decides from, but for the queue, which may come in pages. */
export type PassBase = Omit<Snapshot, 'pending'>;

/** A pass under way. Opaque: start, consider pages in queue order, finish. */
export interface Pass {
  readonly base: PassBase;
  readonly now: Timestamp;
  /** The pass's moment, and the next one at which time alone changes a decision. */
  readonly clock: Alarm;
  readonly nodes: NodeTable;
  readonly ranking: Ranking;
  readonly quotas: QuotaBook;
  readonly standing: Standing;
  /** Who holds room; those that this pass tells to go have their end in `goneBy`. */
  readonly running: Map<string, SnapshotRunning>;
  /** The order by budgets; null where the queue's own order holds. */
  readonly fairShare: FairShare | null;
  /** Null where the policy stops nobody and guarantees nothing. */
  readonly preemption: Preemption | null;
  readonly drains: Pick<Plan, 'drains' | 'drained'>;
  /** Rooms that are kept, by the session that they are for; one that has been decided on is taken out. */
  readonly heldRooms: Map<string, HeldRoom>;
  readonly placed: Placed[];
  readonly waiting: Waiting[];
  readonly ends: EndOrder[];
  readonly stops: StopOrder[];
  readonly holds: HoldOrder[];
  readonly droppedHolds: Plan['droppedHolds'];
  /** Those that this pass placed, as the room in time needs them. */
  readonly started: { readonly session: SnapshotPending; readonly kernels: readonly PlacedKernel[] }[];
  /** Shapes that no room was found for. */
  readonly fullShapes: Set<string>;
  /** Shapes that some READY node could hold. */
  readonly openShapes: Set<string>;
  /** Sessions without room, by their place in `waiting`: explained at the end, once a shape, by what is left then. */
  readonly unexplained: {
    readonly index: number;
    readonly shape: string;
    readonly demand: Demand;
    readonly gaveUp: boolean;
  }[];
  /** Made for the first session that is blocked, where the policy or the reader asks for the room in time. */
  backfill: Backfill | null;
  /** Whether the session that is charged for being blocked at the head has been seen. */
  headSeen: boolean;
  blockedBy: Plan['blockedBy'];
  skipped: number;
  /** Pages to the end of the queue were handed over. */
  isWholeQueue: boolean;
}
