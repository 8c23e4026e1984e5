import type { GroupPolicy } from '../contract/group.js';
import type { SnapshotPending, SnapshotRunning } from '../contract/snapshot.js';
import { msOf } from './moments.js';

/** A session that is past its bound is about to go: it counts as gone a second from now, never at once. */
const OVERDUE_MS = 1_000;

export interface Bounds {
  /** When it is gone at the latest, its grace included; Infinity without a bound. */
  readonly maxMs: number;
  /** When it can be gone at the earliest for somebody who may stop it. */
  readonly minMs: number;
}

/**
 * A running session's bounds. While it starts they count from now: its runtime has not begun, so that they can only
 * move later until it has. `goneBy` is the promise of one that ends already.
 */
export function boundsOfRunning(session: SnapshotRunning, nowMs: number): Bounds {
  const soon = nowMs + OVERDUE_MS;
  if (session.goneBy !== null) {
    const gone = Math.max(soon, msOf(session.goneBy));
    return { maxMs: gone, minMs: gone };
  }
  const from = session.startedAt === null ? nowMs : msOf(session.startedAt);
  const grace = session.gracePeriodSeconds * 1000;
  const max = session.maxRuntimeSeconds;
  const maxMs = max === null ? Number.POSITIVE_INFINITY : Math.max(soon, from + max * 1000 + grace);
  const minMs = Math.max(soon, from + session.minRuntimeSeconds * 1000 + grace, nowMs + grace);
  return { maxMs, minMs: Math.min(minMs, maxMs) };
}

/** How long a waiting session keeps its room from its start: at most, and until somebody who may stop it has it gone. */
export function lengthsOf(session: SnapshotPending): { readonly maxMs: number; readonly minMs: number } {
  const grace = session.gracePeriodSeconds * 1000;
  const max = session.maxRuntimeSeconds;
  const maxMs = max === null ? Number.POSITIVE_INFINITY : max * 1000 + grace;
  return { maxMs, minMs: Math.min(maxMs, session.minRuntimeSeconds * 1000 + grace) };
}

type Stopper = Pick<SnapshotPending, 'priority' | 'userId' | 'projectId' | 'domainId'>;
type Stoppable = Stopper & Pick<SnapshotPending, 'preemptible'>;

/** Whether the policy lets one stop the other, once its minimum runtime has passed. */
export function mayStop({ preemption }: Pick<GroupPolicy, 'preemption'>, by: Stopper, victim: Stoppable): boolean {
  if (!preemption.enabled || !victim.preemptible || victim.priority >= by.priority) return false;
  return preemption.scope === 'group' || by[`${preemption.scope}Id`] === victim[`${preemption.scope}Id`];
}
