import {
  type Blocker,
  type ExpectedStart,
  type GroupPolicy,
  type NearestNode,
  type NodeVerdict,
  REASONS,
  type Reason,
} from '../../contract/index.js';
import { blockerOf, readHeld } from './held-reason.js';
import type { WaitingRow } from './waiting-row.js';

/** The queue's state that reasons are derived from: the blocker only while it still waits at the place it has. */
export interface QueueState {
  readonly name: string;
  readonly policy: GroupPolicy;
  readonly blocker: {
    readonly id: string;
    readonly name: string;
    readonly queueRank: number;
    readonly submittedAt: string;
  } | null;
}
export interface ReasonView {
  readonly reason: Reason;
  readonly message: string;
  readonly blockers: readonly Blocker[];
  readonly nodes: NodeVerdict | null;
  readonly nearest: NearestNode | null;
  readonly reservedNodes: readonly string[];
  /** As the last pass worked it out; null where it did not look. */
  readonly expectedStart: ExpectedStart | null;
  readonly blockedBy: string | null;
}

type Place = Pick<WaitingRow, 'id' | 'queueRank' | 'submittedAt'>;
export const isBehind = (one: Place, other: Place): boolean => {
  if (one.queueRank !== other.queueRank) return one.queueRank > other.queueRank;
  if (one.submittedAt !== other.submittedAt) return one.submittedAt > other.submittedAt;
  return one.id > other.id;
};

const derived = (view: Pick<ReasonView, 'reason' | 'message'> & Partial<ReasonView>): ReasonView => ({
  blockers: [],
  nodes: null,
  nearest: null,
  reservedNodes: [],
  expectedStart: null,
  blockedBy: null,
  ...view,
});

const asWritten = (row: WaitingRow, reason: Reason): ReasonView => ({
  reason,
  message: row.message ?? '',
  blockers: row.blockers,
  nodes: row.nodes,
  nearest: row.nearest,
  reservedNodes: row.reservedNodes,
  expectedStart: row.expectedBasis === null ? null : { at: row.expectedStart, basis: row.expectedBasis },
  blockedBy: null,
});

/** Told of a hold that has passed until a pass has seen that. */
const HELD: ReadonlySet<Reason> = new Set(['scheduled_start', 'dependency_pending', 'queue_paused', 'backoff']);

/**
 * What a waiting session is told, by the precedence of reasons. What never fits, and what holds it now, is true whatever
 * blocks the queue; then behind the blocker it is that session, whatever was written before it came; else what the last pass
 * wrote, unless time has made it untrue; else that no pass has seen it.
 */
export function reasonView(row: WaitingRow, queue: QueueState): ReasonView {
  const { reason } = row;
  if (reason !== null && REASONS[reason] === 'never') return asWritten(row, reason);
  const held = readHeld(row, queue);
  if (held !== null) return held.reason === reason ? asWritten(row, held.reason) : derived(held);
  const { blocker } = queue;
  if (blocker !== null && isBehind(row, blocker)) {
    return derived({
      reason: 'behind_in_queue',
      message: `waits behind ${blocker.name} (${blocker.id}), for which there is no room yet`,
      blockers: [blockerOf('session', blocker.id)],
      blockedBy: blocker.id,
    });
  }
  if (reason !== null && !HELD.has(reason)) return asWritten(row, reason);
  const message =
    reason === null ? 'admitted; the next pass considers it' : 'nothing holds it any more; the next pass considers it';
  return derived({ reason: 'awaiting_pass', message });
}
