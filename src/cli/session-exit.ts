import type { Session } from '../contract/index.js';
import { hasEnded } from '../lifecycle/milestones.js';
import { EXIT } from './exit-codes.js';

type Ended = Pick<Session, 'state' | 'result' | 'cause' | 'exitCode' | 'message'>;

/** Ends that are the platform's, or before the command ran: docker's 125. */
const NOT_STARTED: readonly (Session['cause'] | null)[] = [
  'bad-image',
  'pull-failed',
  'port-taken',
  'folder-refused',
  'folder-denied',
  'device-unavailable',
  'engine-failed',
  'start-deadline',
  'node-lost',
  'workflow-lost',
];

/**
 * The workload's own code where it has one; else as docker tells it. A session that succeeded is 0, one that was preempted
 * and waits again is 75.
 */
export function exitCodeOfSession(session: Ended): number {
  if (!hasEnded(session)) return EXIT.requeued;
  if (session.cause === 'bad-command') {
    return /permission denied|not executable|is a directory/i.test(session.message ?? '')
      ? EXIT.notExecutable
      : EXIT.commandNotFound;
  }
  if (session.exitCode !== null) return session.exitCode;
  if (session.result === 'success') return EXIT.ok;
  if (session.result === 'platform-failure' || NOT_STARTED.includes(session.cause)) return EXIT.notStarted;
  return EXIT.failure;
}
