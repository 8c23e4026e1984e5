import type { Timestamp } from '../contract/ids.js';
import type { Placed, Waiting } from '../contract/plan.js';
import type { Snapshot, SnapshotPending } from '../contract/snapshot.js';
import { considerPage, finishPass, startPass } from './plan-pass.js';
import { compareQueueOrder, inQueueOrder } from './queue-order.js';
import { skippedReason } from './skipped-reason.js';

export type WhatIf = {
  /** Its place in the queue, from 1. */
  readonly position: number;
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
  const ahead = inQueueOrder(others.filter((session) => compareQueueOrder(session, candidate) < 0));
  const position = ahead.length + 1;
  const pass = startPass(base, now);
  considerPage(pass, [...ahead, candidate]);
  const plan = finishPass(pass);
  const placed = plan.placed.find(({ sessionId }) => sessionId === candidate.id);
  if (placed !== undefined) return { position, outcome: 'placed', placed, waiting: null };
  const waiting = plan.waiting.find(({ sessionId }) => sessionId === candidate.id);
  if (waiting !== undefined) {
    return { position, outcome: NEVER.has(waiting.reason) ? 'refused' : 'waits', placed: null, waiting };
  }
  return { position, outcome: 'waits', placed: null, waiting: behind(plan, candidate, ahead) };
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
