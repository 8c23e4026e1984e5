import type { SessionState } from '../contract/index.js';

/** Which state may follow which. The ledger compares and sets along these edges and no others. */
export const NEXT_STATES: Readonly<Record<SessionState, readonly SessionState[]>> = {
  PENDING: ['SCHEDULED', 'CANCELLED'],
  SCHEDULED: ['PREPARING', 'PREEMPTING', 'TERMINATING', 'CANCELLED', 'ERROR'],
  PREPARING: ['CREATING', 'RUNNING', 'PREEMPTING', 'TERMINATING', 'CANCELLED', 'ERROR'],
  CREATING: ['RUNNING', 'PREEMPTING', 'TERMINATING', 'CANCELLED', 'ERROR'],
  RUNNING: ['PREEMPTING', 'TERMINATING'],
  PREEMPTING: ['PENDING', 'TERMINATING'],
  TERMINATING: ['PENDING', 'TERMINATED', 'CANCELLED', 'ERROR'],
  TERMINATED: [],
  CANCELLED: [],
  ERROR: [],
};

export const isEnded = (state: SessionState): boolean => NEXT_STATES[state].length === 0;

/** The state holds room in the ledger: from placement until release. */
export const holdsRoom = (state: SessionState): boolean => state !== 'PENDING' && !isEnded(state);

export const mayFollow = (from: SessionState, to: SessionState): boolean => NEXT_STATES[from].includes(to);
