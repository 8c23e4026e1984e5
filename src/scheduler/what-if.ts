import type { Timestamp } from '../contract/ids.js';
import type { Placed, Plan, Waiting } from '../contract/plan.js';
import type { Snapshot, SnapshotPending, SnapshotRunning } from '../contract/snapshot.js';
import type { ExpectedStart } from '../contract/why.js';
import { forecast } from './forecast.js';
import { considerPage, considerUpTo, finishPass, startPass } from './plan-pass.js';
import { compareQueueOrder, inQueueOrder } from './queue-order.js';
import { type QuotaAfter, quotaAfter } from './quota-after.js';
import { skippedReason } from './skipped-reason.js';

export type WhatIf = {
  /** Its place in the queue, from 1. */
  readonly position: number;
  /** Now, or at the latest, if those who run keep their bounds; why it is not known. */
  readonly expectedStart: ExpectedStart;
  /** Where each limit that binds it would stand, were it placed. */
  readonly quotaAfter: readonly QuotaAfter[];
  /** Who would be told to end for it. */
  readonly wouldStop: readonly Pick<SnapshotRunning, 'id' | 'name'>[];
} & (
  | { readonly outcome: 'placed'; readonly placed: Placed; readonly waiting: null }
  /** `refused`: for a reason that no release changes. */
  | { readonly outcome: 'waits' | 'refused'; readonly placed: null; readonly waiting: Waiting }
);

const NEVER: ReadonlySet<Waiting['reason']> = new Set([
  'misconfigured',
  'no_matching_device',
  'too_large_for_any_node',
]);

/**
 * What the next pass would decide about the candidate if it stood in the queue, at its place by priority and submission.
 * Those behind it cannot matter and are not planned. Changes nothing.
 */
export function whatIf(snapshot: Snapshot, candidate: SnapshotPending, now: Timestamp): WhatIf {
  const { pending, ...base } = snapshot;
  const others = pending.filter(({ id }) => id !== candidate.id);
  if (snapshot.budgets !== null)
    return fairShareWhatIf({ ...snapshot, pending: [...others, candidate] }, candidate, now);
  const ahead = inQueueOrder(others.filter((session) => compareQueueOrder(session, candidate) < 0));
  const pass = startPass(base, now);
  considerPage(pass, [...ahead, candidate]);
  const plan = finishPass(pass);
  return outcomeOf({ snapshot: { ...snapshot, pending: [...ahead, candidate] }, candidate, plan, ahead, now });
}

/** The order is the budgets': all others matter, and those that come after it in the order are left out. */
function fairShareWhatIf(snapshot: Snapshot, candidate: SnapshotPending, now: Timestamp): WhatIf {
  const { pending, ...base } = snapshot;
  const pass = startPass(base, now);
  considerPage(pass, pending);
  const considered = considerUpTo(pass, candidate.id);
  const plan = finishPass(pass);
  const ahead = pending.filter(({ id }) => id !== candidate.id && considered.has(id));
  return outcomeOf({ snapshot, candidate, plan, ahead, now });
}

interface Planned {
  readonly snapshot: Snapshot;
  readonly candidate: SnapshotPending;
  readonly plan: Plan;
  readonly ahead: readonly SnapshotPending[];
  readonly now: Timestamp;
}

function outcomeOf({ snapshot, candidate, plan, ahead, now }: Planned): WhatIf {
  const stopped = plan.stops.filter(({ forSessionId }) => forSessionId === candidate.id);
  const common = {
    position: ahead.length + 1,
    quotaAfter: quotaAfter(snapshot.quotas, candidate),
    wouldStop: stopped.map(({ sessionId: id }) => ({
      id,
      name: snapshot.running.find((each) => each.id === id)?.name ?? id,
    })),
  };
  const placed = plan.placed.find(({ sessionId }) => sessionId === candidate.id);
  if (placed !== undefined) {
    const expectedStart = { at: now, basis: 'it would be placed by the next pass' };
    return { ...common, expectedStart, outcome: 'placed', placed, waiting: null };
  }
  const waiting =
    plan.waiting.find(({ sessionId }) => sessionId === candidate.id) ?? endsOrBehind(plan, candidate, ahead);
  const expectedStart =
    waiting.expectedStart.at === null
      ? (forecast(snapshot, candidate.id, now) ?? waiting.expectedStart)
      : waiting.expectedStart;
  const outcome = NEVER.has(waiting.reason) ? 'refused' : 'waits';
  return { ...common, expectedStart, outcome, placed: null, waiting };
}

/** One that would end without having run waits for what it depends on, as far as a reason goes. */
function endsOrBehind(plan: Plan, candidate: SnapshotPending, ahead: readonly SnapshotPending[]): Waiting {
  const end = plan.ends.find(({ sessionId }) => sessionId === candidate.id);
  if (end === undefined) return behind(plan, candidate, ahead);
  const told = { reason: 'dependency_pending', message: end.message, blockers: [], violations: [] } as const;
  const rest = { nodes: null, nearest: null, decay: null, expectedStart: { at: null, basis: 'never: it ends' } };
  return { sessionId: candidate.id, version: candidate.version, ...rest, ...told, blockers: [], violations: [] };
}

function behind(
  plan: Parameters<typeof skippedReason>[0],
  candidate: SnapshotPending,
  ahead: readonly SnapshotPending[],
): Waiting {
  const blocking = ahead.find(({ id }) => id === plan.blockedBy);
  const skipped = skippedReason(plan, candidate, blocking);
  if (skipped === null) throw new Error('a session of the pass is neither placed nor waiting, and nobody blocks it');
  const { reason, message, blockers } = skipped;
  const told = { reason, message, blockers: [...blockers], violations: [], nodes: null, nearest: null, decay: null };
  const expectedStart = { at: null, basis: 'not worked out' };
  return { sessionId: candidate.id, version: candidate.version, expectedStart, ...told };
}
