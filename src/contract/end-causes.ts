import { z } from 'zod';

/**
 * Why a session ended, or is ending. `user-failure` covers a container that exits non-zero; the others of the
 * request's own fault are `bad-image`, `bad-command`, `out-of-memory`, `health-check`, `max-runtime`,
 * `folder-denied` (a permission on a mounted folder was taken away before it started).
 */
export const END_CAUSES = [
  'completed',
  'user-failure',
  'user-stop',
  'operator-stop',
  'bad-image',
  'bad-command',
  'out-of-memory',
  'health-check',
  'start-deadline',
  'max-runtime',
  'max-wait',
  'idle-timeout',
  'dependency-failed',
  'preempted',
  'drained',
  'port-taken',
  'folder-refused',
  'folder-denied',
  'pull-failed',
  'device-unavailable',
  'engine-failed',
  'node-lost',
  'workflow-lost',
] as const;
export const endCauseSchema = z.enum(END_CAUSES);
export type EndCause = (typeof END_CAUSES)[number];
