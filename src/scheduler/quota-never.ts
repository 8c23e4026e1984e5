import type { QuotaViolation } from '../contract/quota.js';
import type { SnapshotQuota } from '../contract/snapshot.js';
import { demandOf, type Request } from './demand.js';
import { amountsOf } from './quota-book.js';

const SLOTS = ['gpuCount', 'gpuMemoryBytes', 'cpuMilli', 'memoryBytes', 'sessions', 'pendingSessions'] as const;

/**
 * Limits that are smaller than the request itself, so that it could not run with nothing else held: refused at once.
 * `quotas` are those of its user, project and domain. `held` is 0 in each: what is held now does not matter here.
 */
export function quotaNever(
  request: Request,
  quotas: readonly Pick<SnapshotQuota, 'scope' | 'name' | 'limits'>[],
): QuotaViolation[] {
  const requested = { ...amountsOf(demandOf(request)), pendingSessions: 1 };
  return quotas.flatMap(({ scope, name, limits }) =>
    SLOTS.flatMap((slot) => {
      const limit = limits[slot];
      if (limit === undefined || requested[slot] === 0 || requested[slot] <= limit) return [];
      return [{ scope, name, slot, held: 0, requested: requested[slot], limit, overBy: requested[slot] - limit }];
    }),
  );
}
