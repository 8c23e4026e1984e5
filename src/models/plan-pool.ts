import type { PoolPlan, PoolSnapshot } from '../contract/index.js';
import { poolState } from './pool-state.js';

/** One turn of a pool: all that it decides from what is known, each with its reason. Planned again on what came of it, it orders nothing new. */
export function planPool(snapshot: PoolSnapshot, nowMs: number): PoolPlan {
  const { engines } = poolState(snapshot, nowMs);
  return {
    places: [],
    orders: [],
    reasons: [],
    holds: [],
    calledOff: [],
    limits: [],
    planned: Object.fromEntries(
      engines.flatMap(({ id, plannedBytes }) => (plannedBytes === null ? [] : [[id, plannedBytes]])),
    ),
    short: [],
    nextLookMs: null,
  };
}
