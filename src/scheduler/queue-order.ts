import type { SnapshotPending } from '../contract/snapshot.js';

export type QueueKey = Pick<SnapshotPending, 'priority' | 'submittedAt'> & { readonly id: string };

/**
 * The order of the queue: priority descending, then submission, then id (ids sort by the time they were made).
 */
export function compareQueueOrder(a: QueueKey, b: QueueKey): number {
  return b.priority - a.priority || compareInstants(a.submittedAt, b.submittedAt) || compareText(a.id, b.id);
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Stamps of one form (`…Z`, same length) sort as text, without parsing; others may carry an offset. */
function compareInstants(a: string, b: string): number {
  if (a === b) return 0;
  const sameForm = a.length === b.length && a.endsWith('Z') && b.endsWith('Z');
  return sameForm ? compareText(a, b) : Date.parse(a) - Date.parse(b);
}

/** The same array when it is in order already (the usual case: no copy), else a sorted copy. */
export function inQueueOrder<Session extends QueueKey>(sessions: readonly Session[]): readonly Session[] {
  let previous: Session | undefined;
  for (const session of sessions) {
    if (previous !== undefined && compareQueueOrder(previous, session) > 0) return sessions.toSorted(compareQueueOrder);
    previous = session;
  }
  return sessions;
}
