import { afterFailure, endsRow, type Failures, NO_FAILURES } from './back-off.js';
import { isLive, type Replica, servedMs, serves } from './replica.js';

export interface FailingReplica extends Replica {
  /** Whose doing its end is; only its own counts. */
  readonly fault: 'own' | 'platform' | 'asked' | null;
  readonly drainingMs: number | null;
}

/** It ended, or has to be replaced, by itself; counted once, since it is drained or closed by the same turn. */
export const failedNow = (replica: FailingReplica): boolean =>
  replica.fault === 'own' &&
  replica.drainingMs === null &&
  (replica.route === 'ENDED' || (isLive(replica) && replica.health === 'unhealthy'));

/** Failures in a row of each revision that has any, after what this turn sees. */
export function countFailures(
  before: Readonly<Record<number, Failures>>,
  replicas: readonly FailingReplica[],
  nowMs: number,
): Readonly<Record<number, Failures>> {
  const after: Record<number, Failures> = { ...before };
  for (const replica of replicas.filter(serves)) {
    const row = after[replica.revision] ?? NO_FAILURES;
    const served = { createdMs: replica.createdMs, servedMs: servedMs(replica, nowMs) };
    if (endsRow(row, served)) after[replica.revision] = NO_FAILURES;
  }
  for (const replica of replicas.filter(failedNow)) {
    const served = { createdMs: replica.createdMs, servedMs: servedMs(replica, nowMs) };
    after[replica.revision] = afterFailure(after[replica.revision] ?? NO_FAILURES, served, nowMs);
  }
  return after;
}
