import type { EndCause } from '../contract/index.js';

/** Failures of a node, of its engine or of what it reaches: another node may do better. */
const RETRIED: ReadonlySet<EndCause> = new Set([
  'pull-failed',
  'device-unavailable',
  'engine-failed',
  'node-lost',
  'start-deadline',
  'port-taken',
  'folder-refused',
]);

export interface RetryPolicy {
  readonly maxAttempts: number;
  readonly backoffSeconds: number;
  readonly maxBackoffSeconds: number;
}

export interface FailedAttempt {
  readonly cause: EndCause;
  /** Who can mend it: the user by another request, the platform by another try. */
  readonly whose: 'user' | 'platform';
  /** Of the attempt that failed: 1 for the first. */
  readonly attempt: number;
  readonly retry: RetryPolicy;
  /** Somebody asked for its end: that wins over any further attempt. */
  readonly stopRequested: boolean;
}

export type RetryDecision = { readonly again: false } | { readonly again: true; readonly backoffMs: number };

/** The same answer for the same attempt, so a second run of the step that asks changes nothing. */
export function decideRetry({ cause, whose, attempt, retry, stopRequested }: FailedAttempt): RetryDecision {
  const isRetried = whose === 'platform' && RETRIED.has(cause);
  if (stopRequested || !isRetried || attempt >= retry.maxAttempts) return { again: false };
  return { again: true, backoffMs: backoffMs(attempt, retry) };
}

/** `backoffSeconds`, doubled for each failed attempt after the first, up to `maxBackoffSeconds`. */
function backoffMs(attempt: number, { backoffSeconds, maxBackoffSeconds }: RetryPolicy): number {
  const doubled = backoffSeconds * 2 ** Math.max(0, attempt - 1);
  return Math.round(Math.min(doubled, maxBackoffSeconds) * 1000);
}
