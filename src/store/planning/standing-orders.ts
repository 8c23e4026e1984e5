import type { HoldOrder, Plan, StopOrder } from '../../contract/index.js';
import { type LockedSessions, stillWaits } from './lock-sessions.js';

export interface StandingOrders {
  readonly stops: readonly StopOrder[];
  readonly holds: readonly HoldOrder[];
  /** For whom nothing is stopped and nothing is kept, though the plan said so. */
  readonly droppedFor: ReadonlySet<string>;
}

const STOPPABLE: ReadonlySet<string> = new Set(['PREPARING', 'CREATING', 'RUNNING']);

/** It runs or starts, as the plan saw it: no exit, no stop and no end was first. What has not begun is stopped once it has. */
function stillRuns(locked: LockedSessions, stop: StopOrder): boolean {
  const row = locked.get(stop.sessionId);
  const isSame = row?.version === stop.version && row.attempt === stop.attempt;
  return isSame && STOPPABLE.has(row.state) && !row.isStopped;
}

/**
 * The stops and holds that still hold. Those of one requester hold all or none, and only while he waits: else somebody would
 * be stopped for a room that cannot become whole, or for nobody. A drain's stops hold one by one.
 */
export function standingOrders(plan: Pick<Plan, 'stops' | 'holds'>, locked: LockedSessions): StandingOrders {
  const droppedFor = new Set<string>();
  for (const hold of plan.holds) if (!stillWaits(locked, hold)) droppedFor.add(hold.sessionId);
  const kept = new Set(plan.holds.map((hold) => hold.sessionId));
  for (const stop of plan.stops) {
    const requester = stop.forSessionId;
    if (requester !== null && !(kept.has(requester) && stillRuns(locked, stop))) droppedFor.add(requester);
  }
  const stands = (stop: StopOrder): boolean =>
    stop.forSessionId === null ? stillRuns(locked, stop) : !droppedFor.has(stop.forSessionId);
  return {
    stops: plan.stops.filter(stands),
    holds: plan.holds.filter((hold) => !droppedFor.has(hold.sessionId)),
    droppedFor,
  };
}
