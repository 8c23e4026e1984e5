import type { SnapshotPending } from '../contract/snapshot.js';
import type { Blocker } from '../contract/why.js';
import { listText } from './amount-text.js';
import type { Refusal } from './explain-blocked.js';
import { type Alarm, msOf, wakeAt } from './moments.js';

/** What keeps a session from a placement, whatever is free. */
export interface Holding {
  readonly group: { readonly name: string; readonly policy: { readonly paused: boolean } };
  readonly clock: Alarm;
}

/** Its start time, what it depends on, a paused queue, the back-off after a failure: the first that holds. */
export const heldBack = (holding: Holding, session: SnapshotPending): Refusal | null =>
  scheduledStart(holding, session) ??
  dependencyPending(session) ??
  pausedRefusal(holding) ??
  backoffRefusal(holding, session);

const told = (reason: Refusal['reason'], message: string, blockers: Blocker[] = []): Refusal => ({
  reason,
  message,
  blockers,
  violations: [],
  nodes: null,
});

function scheduledStart({ clock }: Holding, { startsAt }: SnapshotPending): Refusal | null {
  if (startsAt === null || msOf(startsAt) <= clock.nowMs) return null;
  wakeAt(clock, msOf(startsAt));
  return told('scheduled_start', `is to start at ${startsAt}, as it asked`);
}

function dependencyPending({ dependsOn }: SnapshotPending): Refusal | null {
  if (dependsOn.length === 0) return null;
  const open = dependsOn.filter(({ state }) => state === 'open');
  if (open.length === 0) return null;
  const blockers = open.map(({ sessionId }) => bareBlocker('session', sessionId));
  return told('dependency_pending', `waits until ${listText(open.map(({ name }) => name))} succeeded`, blockers);
}

function pausedRefusal({ group }: Holding): Refusal | null {
  if (!group.policy.paused) return null;
  return told('queue_paused', `group ${group.name} is paused: nothing new is placed`, [
    bareBlocker('group', group.name),
  ]);
}

function backoffRefusal({ clock }: Holding, { retryAt, attempt, avoid }: SnapshotPending): Refusal | null {
  if (retryAt === null || msOf(retryAt) <= clock.nowMs) return null;
  wakeAt(clock, msOf(retryAt));
  const where = avoid.length === 0 ? '' : `, not on ${listText(avoid.slice(0, 5))} if it can be helped`;
  return told('backoff', `attempt ${attempt} failed through no fault of its own: tried again at ${retryAt}${where}`);
}

const bareBlocker = (kind: 'session' | 'group', name: string): Blocker => ({
  kind,
  scope: kind,
  name,
  resource: null,
  need: null,
  used: null,
  limit: null,
});
