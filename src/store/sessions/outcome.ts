import type { EndCause, SessionResult, SessionState } from '../../contract/index.js';

/** Of the platform: not charged to the user's work, and worth another try elsewhere. */
const PLATFORM: ReadonlySet<EndCause> = new Set([
  'node-lost',
  'engine-failed',
  'pull-failed',
  'device-unavailable',
  'port-taken',
  'folder-refused',
  'start-deadline',
  'workflow-lost',
]);
const STOPS: ReadonlySet<EndCause> = new Set(['user-stop', 'operator-stop', 'preempted', 'drained', 'idle-timeout']);
const NEVER_BEGAN: ReadonlySet<EndCause> = new Set(['max-wait', 'dependency-failed']);

export const isPlatformFailure = (cause: EndCause): boolean => PLATFORM.has(cause);

export interface Outcome {
  readonly state: Extract<SessionState, 'TERMINATED' | 'CANCELLED' | 'ERROR'>;
  readonly result: Exclude<SessionResult, 'none'>;
}

/** The truthful end: what the platform broke and what never started is an ERROR, what was stopped before it ran is CANCELLED. */
export function outcomeOf(cause: EndCause, ran: boolean): Outcome {
  if (PLATFORM.has(cause)) return { state: 'ERROR', result: 'platform-failure' };
  if (NEVER_BEGAN.has(cause)) return { state: 'CANCELLED', result: 'cancelled' };
  if (STOPS.has(cause)) {
    return ran ? { state: 'TERMINATED', result: 'stopped' } : { state: 'CANCELLED', result: 'cancelled' };
  }
  if (cause === 'completed') return { state: 'TERMINATED', result: 'success' };
  return { state: ran ? 'TERMINATED' : 'ERROR', result: 'failure' };
}
