import type { GroupPolicy } from '../contract/group.js';

/** What the store knows of a group before it reads the snapshot. */
export interface GroupFlags {
  /** Somebody waits for room that is kept for him. */
  readonly hasHolds: boolean;
  /** A node has to become empty: it drains, or is to move. */
  readonly hasDrains: boolean;
  /** A waiting session depends on one that failed. */
  readonly hasFailedDependencies: boolean;
  /** A waiting session asks for its place among the sessions of its replica group. */
  readonly hasReplicaGroups: boolean;
}

type Policy = Pick<GroupPolicy, 'order' | 'backfill' | 'preemption' | 'guarantees' | 'maxWaitSeconds'>;

/** Whether a pass decides anything from the sessions that hold room. Without them it plans the same, and tells no start times. */
export const needsRunning = (policy: Policy, flags: GroupFlags): boolean =>
  policy.order === 'fair-share' ||
  policy.backfill !== 'none' ||
  policy.preemption.enabled ||
  policy.guarantees.length > 0 ||
  flags.hasHolds ||
  flags.hasDrains ||
  flags.hasReplicaGroups;

/**
 * Whether every page of the queue has to be read though somebody blocks it: some behind him may have to end, or hold room
 * that nobody waits for any more, or have a guarantee to call on.
 */
export const needsWholeQueue = (policy: Policy, flags: GroupFlags): boolean =>
  policy.order === 'fair-share' ||
  policy.maxWaitSeconds !== null ||
  policy.guarantees.length > 0 ||
  flags.hasHolds ||
  flags.hasFailedDependencies;
