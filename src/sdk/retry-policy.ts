const RETRIED_STATUSES: readonly number[] = [408, 429, 502, 503, 504];
/** The server did not take the request up: trying again cannot do it twice. */
const REFUSED_STATUSES: readonly number[] = [429, 503];

export interface Retries {
  /** All tries of a call together. */
  readonly triesMax: number;
  readonly baseMilliseconds: number;
  readonly delayMillisecondsMax: number;
}
export const DEFAULT_RETRIES: Retries = { triesMax: 5, baseMilliseconds: 200, delayMillisecondsMax: 10_000 };

export interface FailedTry {
  /** 1 for the first. */
  readonly attempt: number;
  /** Undefined when no answer came. */
  readonly status: number | undefined;
  readonly headers: Headers | undefined;
  /** The request may be sent twice: it reads, it sets a value, or it carries an Idempotency-Key. */
  readonly isRepeatable: boolean;
  /** The connection was refused: nothing was sent. */
  readonly wasNeverSent: boolean;
  /** An earlier try of this call got no answer. Then a 409 with Retry-After says that our own earlier try still runs. */
  readonly wasLostBefore: boolean;
}

export function shouldRetry(failed: FailedTry): boolean {
  if (failed.headers?.get('x-should-retry') === 'false') return false;
  if (failed.status === undefined) return failed.isRepeatable || failed.wasNeverSent;
  if (failed.status === 409) return failed.wasLostBefore && failed.headers?.has('retry-after') === true;
  return (failed.isRepeatable ? RETRIED_STATUSES : REFUSED_STATUSES).includes(failed.status);
}

/** Seconds or an HTTP date; undefined when there is none that can be read. */
export function retryAfterMilliseconds(headers: Headers | undefined, nowMilliseconds: number): number | undefined {
  const value = headers?.get('retry-after');
  if (value === null || value === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMilliseconds);
}

/**
 * Doubling with full jitter over its upper half, so that many clients do not come back together. A Retry-After is a
 * lower bound, and never cut: the server knows better. `random` is in [0, 1).
 */
export function retryDelayMilliseconds(attempt: number, retries: Retries, given: RetryTiming): number {
  const cap = Math.min(retries.baseMilliseconds * 2 ** (attempt - 1), retries.delayMillisecondsMax);
  const jittered = cap * (0.5 + given.random / 2);
  return Math.max(jittered, given.retryAfterMilliseconds ?? 0);
}
export interface RetryTiming {
  readonly random: number;
  readonly retryAfterMilliseconds: number | undefined;
}
