import { type PoolPlan, type PoolSnapshot, poolSnapshotSchema } from '../contract/index.js';
import { planPool } from '../models/plan-pool.js';
import { usageError } from './cli-error.js';

/** Throws a usage error that names every field that is wrong. */
export function planPoolSnapshot(
  json: unknown,
  nowMs: number,
): { readonly plan: PoolPlan; readonly snapshot: PoolSnapshot } {
  const parsed = poolSnapshotSchema.safeParse(json);
  if (!parsed.success) {
    const wrong = parsed.error.issues.map(({ path, message }) => `/${path.join('/')}: ${message}`);
    throw usageError(`this is no snapshot of a pool (schema PoolSnapshot): ${wrong.slice(0, 10).join('; ')}`);
  }
  return { plan: planPool(parsed.data, nowMs), snapshot: parsed.data };
}
