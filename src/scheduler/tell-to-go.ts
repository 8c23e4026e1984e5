import type { StopOrder } from '../contract/plan.js';
import type { SnapshotRunning } from '../contract/snapshot.js';
import { type Alarm, timestampOf } from './moments.js';

/** Those that are told to go leave by the end of their grace. Returns when each will have left. */
export function tellToGo(
  running: Map<string, SnapshotRunning>,
  stops: readonly Pick<StopOrder, 'sessionId' | 'graceSeconds'>[],
  { nowMs }: Alarm,
): ReadonlyMap<string, number> {
  const goneMs = new Map<string, number>();
  for (const { sessionId, graceSeconds } of stops) {
    const session = running.get(sessionId);
    if (session === undefined) continue;
    const atMs = nowMs + graceSeconds * 1000;
    goneMs.set(sessionId, atMs);
    running.set(sessionId, { ...session, goneBy: timestampOf(atMs) });
  }
  return goneMs;
}
