import type { PoolSnapshot } from '../contract/index.js';
import { planPool } from './plan-pool.js';

/**
 * Whether a turn would change anything but words: asked at each look of an agent, so that the planner is woken only then. A
 * first look with a short engine is due, too, as it has to be remembered for the second.
 */
export function isTurnDue(snapshot: PoolSnapshot, nowMs: number): boolean {
  const { places, orders, calledOff, limits, holds, short } = planPool(snapshot, nowMs);
  if (places.length + orders.length + calledOff.length + limits.length > 0) return true;
  if (holds.length !== snapshot.holds.length) return true;
  const before = snapshot.instances.filter(({ shortBefore }) => shortBefore);
  return before.length !== short.length || before.some(({ id }) => !short.includes(id));
}
