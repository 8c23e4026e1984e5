import type { Session } from '../contract/index.js';
import { isEnded } from './session-states.js';

export const MILESTONES = ['admitted', 'placed', 'running', 'healthy', 'ended'] as const;
export type Milestone = (typeof MILESTONES)[number];

type Reached = Pick<Session, 'state' | 'health' | 'startedAt'>;
const HAS_RUN: readonly Session['state'][] = ['RUNNING', 'PREEMPTING', 'TERMINATING'];

/** A check that missed less often than it may does not take back that it answered. */
const IS_HEALTHY: readonly Session['health'][] = ['healthy', 'degraded', 'none'];

export const hasEnded = ({ state }: Pick<Session, 'state'>): boolean => state !== 'SUBMITTED' && isEnded(state);

/**
 * Of its present attempt: one that was put back in the queue has its milestones before it again. An ended session has
 * passed, or will never pass, every milestone: nobody waits for it. API and SDK judge by this, or a wait would spin.
 */
export function hasReached(session: Reached, milestone: Milestone): boolean {
  if (hasEnded(session)) return true;
  const hasRun = session.startedAt !== null && HAS_RUN.includes(session.state);
  switch (milestone) {
    case 'admitted':
      return session.state !== 'SUBMITTED';
    case 'placed':
      return session.state !== 'SUBMITTED' && session.state !== 'PENDING';
    case 'running':
      return hasRun;
    case 'healthy':
      return hasRun && IS_HEALTHY.includes(session.health);
    case 'ended':
      return false;
  }
}
