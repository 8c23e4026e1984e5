import type { PoolPlan, PoolSnapshot } from '../contract/index.js';
import { claimReasons } from './claim-reasons.js';
import { leaveTurn } from './leave-turn.js';
import { chargeHolds, placeNewClaims } from './new-claims.js';
import { planLimits } from './pool-limits.js';
import { poolState } from './pool-state.js';
import { sleepTurn } from './sleep-turn.js';
import { openTurn, type Turn } from './turn.js';
import { wakeTurn } from './wake-turn.js';

/**
 * One turn of a pool: all that it decides from what is known, each with its reason. What leaves goes first, then what is idle
 * sleeps, then those that were asked for wake, then new claims are placed; who is there then shares the KV cache. Planned
 * again on what came of it, it orders nothing new.
 */
export function planPool(snapshot: PoolSnapshot, nowMs: number): PoolPlan {
  const turn = openTurn(poolState(snapshot, nowMs));
  chargeHolds(turn);
  leaveTurn(turn);
  sleepTurn(turn);
  for (let decided = Number.NEGATIVE_INFINITY; decided < decisionsOf(turn); ) {
    decided = decisionsOf(turn);
    wakeTurn(turn);
    placeNewClaims(turn);
  }
  const { places, orders, holds, calledOff, moments } = turn;
  return {
    places,
    orders,
    reasons: claimReasons(turn),
    holds,
    calledOff,
    ...planLimits(turn.state),
    nextLookMs: moments.length === 0 ? null : Math.min(...moments),
  };
}

/** What one decided may free room for another (a hold that is no longer needed): they are asked until nobody has more to say. */
const decisionsOf = ({ orders, places, holds }: Turn): number => 2 * (orders.length + places.length) - holds.length;
