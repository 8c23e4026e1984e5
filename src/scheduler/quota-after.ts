import type { QuotaScopeKind, QuotaSlot } from '../contract/quota.js';
import type { SnapshotPending, SnapshotQuota } from '../contract/snapshot.js';
import { demandOf } from './demand.js';
import { amountsOf } from './quota-book.js';

const SLOTS = [
  'gpuCount',
  'cpuMilli',
  'memoryBytes',
  'gpuMemoryBytes',
  'sessions',
] as const satisfies readonly QuotaSlot[];

/** Where a limit would stand with the session placed; above the limit when it does not fit. */
export interface QuotaAfter {
  readonly scope: QuotaScopeKind;
  readonly name: string;
  readonly slot: QuotaSlot;
  readonly held: number;
  readonly limit: number;
}

/** Every limit of its user, project and domain, as it would stand were the session placed. */
export function quotaAfter(quotas: readonly SnapshotQuota[], session: SnapshotPending): readonly QuotaAfter[] {
  const requested = amountsOf(demandOf(session));
  return quotas
    .filter(({ scope, id }) => session[`${scope}Id`] === id)
    .flatMap(({ scope, name, limits, held }) =>
      SLOTS.flatMap((slot) => {
        const limit = limits[slot];
        return limit === undefined ? [] : [{ scope, name, slot, held: held[slot] + requested[slot], limit }];
      }),
    );
}
