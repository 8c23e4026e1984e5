import type { Blocker, GroupPolicy, NodeVerdict, Reason } from '../../contract/index.js';

/** The queue's state that reasons are derived from: the blocker only while it still waits at the place it had. */
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
export interface WaitingRow {
  readonly id: string;
  readonly queueRank: number;
  readonly submittedAt: string;
  readonly reason: Reason | null;
  readonly message: string | null;
  readonly blockers: readonly Blocker[];
  readonly nodes: NodeVerdict | null;
}
export interface ReasonView {
  readonly reason: Reason;
  readonly message: string;
  readonly blockers: readonly Blocker[];
  readonly nodes: NodeVerdict | null;
  readonly blockedBy: string | null;
}

type Place = Pick<WaitingRow, 'id' | 'queueRank' | 'submittedAt'>;
export const isBehind = (one: Place, other: Place): boolean => {
  if (one.queueRank !== other.queueRank) return one.queueRank > other.queueRank;
  if (one.submittedAt !== other.submittedAt) return one.submittedAt > other.submittedAt;
  return one.id > other.id;
};

const blockerOf = (kind: Blocker['kind'], scope: string, name: string): Blocker => ({
  kind,
  scope,
  name,
  resource: null,
  need: null,
  used: null,
  limit: null,
});

/**
 * What a waiting session is told: behind the blocker it is that session, whatever was written before it came; else what the
 * last pass wrote; else that no pass has seen it.
 */
export function reasonView(row: WaitingRow, queue: QueueState): ReasonView {
  const { blocker } = queue;
  if (queue.policy.paused) {
    const message = `the group ${queue.name} is paused`;
    return {
      reason: 'queue_paused',
      message,
      blockers: [blockerOf('group', 'group', queue.name)],
      nodes: null,
      blockedBy: null,
    };
  }
  if (blocker !== null && isBehind(row, blocker)) {
    return {
      reason: 'behind_in_queue',
      message: `waits behind ${blocker.name} (${blocker.id}), for which there is no room yet`,
      blockers: [blockerOf('session', 'session', blocker.id)],
      nodes: null,
      blockedBy: blocker.id,
    };
  }
  if (row.reason === null) {
    return {
      reason: 'awaiting_pass',
      message: 'admitted; the next pass considers it',
      blockers: [],
      nodes: null,
      blockedBy: null,
    };
  }
  return { reason: row.reason, message: row.message ?? '', blockers: row.blockers, nodes: row.nodes, blockedBy: null };
}
