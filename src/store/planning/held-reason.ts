import type { Blocker, GroupPolicy, Reason } from '../../contract/index.js';
import type { WaitingRow } from './waiting-row.js';

export const blockerOf = (kind: Blocker['kind'], name: string): Blocker => ({
  kind,
  scope: kind,
  name,
  resource: null,
  need: null,
  used: null,
  limit: null,
});

interface Held {
  readonly reason: Extract<Reason, 'scheduled_start' | 'dependency_pending' | 'queue_paused' | 'backoff'>;
  readonly message: string;
  readonly blockers: readonly Blocker[];
}

const SHOWN = 3;

function namesOf(upstream: readonly { readonly name: string }[]): string {
  const names = upstream.slice(0, SHOWN).map((one) => one.name);
  const more = upstream.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}

/** What keeps it out of the line now, as the row itself says it: also of a session that no pass came to. */
export function readHeld(row: WaitingRow, queue: { readonly name: string; readonly policy: GroupPolicy }): Held | null {
  if (row.startsAt !== null) {
    return { reason: 'scheduled_start', message: `it was asked to start at ${row.startsAt}`, blockers: [] };
  }
  const upstream = row.openUpstream ?? [];
  if (upstream.length > 0) {
    const blockers = upstream.map(({ id }) => blockerOf('session', id));
    return { reason: 'dependency_pending', message: `it waits for ${namesOf(upstream)} to succeed`, blockers };
  }
  if (queue.policy.paused) {
    const blockers = [blockerOf('group', queue.name)];
    return { reason: 'queue_paused', message: `the group ${queue.name} is paused`, blockers };
  }
  if (row.retryAt !== null) {
    return { reason: 'backoff', message: `an attempt failed; it is tried again at ${row.retryAt}`, blockers: [] };
  }
  return null;
}
