import type { Plan } from '../contract/plan.js';
import type { Blocker, Reason } from '../contract/why.js';
import { compareQueueOrder, type QueueKey } from './queue-order.js';

export interface Skipped {
  readonly reason: Extract<Reason, 'behind_in_queue'>;
  readonly message: string;
  readonly blockers: readonly Blocker[];
}

/** Of a plan, or of the stored head of a queue: who blocks it, and what that one was told. */
export interface BlockedQueue {
  readonly blockedBy: Plan['blockedBy'];
  readonly waiting: readonly { readonly sessionId: string; readonly message: string }[];
  readonly placed?: readonly { readonly sessionId: string }[];
}

/** The session that blocks, as its row tells it; without it, its id stands for its name. */
export type BlockingSession = QueueKey & { readonly name: string };

/**
 * What a session that the pass did not consider is told. It is derived here on reading and stored nowhere. null when
 * nobody blocks the queue, or the session is not behind the one that does: it waits for its own reason, or for a pass.
 */
export function skippedReason(queue: BlockedQueue, session: QueueKey, blocking?: BlockingSession): Skipped | null {
  const { blockedBy } = queue;
  const isTold = ({ sessionId }: { readonly sessionId: string }): boolean => sessionId === session.id;
  if (blockedBy === null || queue.waiting.some(isTold) || queue.placed?.some(isTold)) return null;
  if (blocking !== undefined && compareQueueOrder(session, blocking) <= 0) return null;
  const name = blocking?.name ?? blockedBy;
  const because = queue.waiting.find(({ sessionId }) => sessionId === blockedBy)?.message;
  const shown = name === blockedBy ? name : `${name} (${blockedBy})`;
  return {
    reason: 'behind_in_queue',
    message: `skipped: behind ${shown} in the queue${because === undefined ? '' : `, which ${because}`}`,
    blockers: [
      { kind: 'session', scope: 'session', name: blockedBy, resource: null, need: null, used: null, limit: null },
    ],
  };
}
