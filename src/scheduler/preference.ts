import { breakage } from './best-fit-devices.js';
import type { Demand, Unit } from './demand.js';
import type { DeviceView } from './device-table.js';
import { partLeft } from './least-allocated.js';
import { type Locality, localityOf } from './locality.js';
import { compareLeft, extraKinds, type Ranking } from './ranking.js';
import { type Tiers, tiersOf } from './tiers.js';

/** In what order the nodes that may be looked at are preferred for a unit of a request. */
export interface Preference {
  /** Negative when node `a` comes before node `b`; only 0 for the same node. */
  readonly compare: (a: number, b: number) => number;
  /** The ranked lists of the policy give the same order, but for locality among nodes of equal amounts. */
  readonly isRanked: boolean;
  readonly tiers: Tiers | null;
  readonly locality: Locality | null;
}

/**
 * The whole rule, first to last: what the request wishes (tiers), fewer unused kinds, the policy, the image and folders
 * that the node holds, the name.
 */
export function preferenceOf(
  ranking: Ranking,
  demand: Demand,
  { unit, free, mask }: { readonly unit: Unit; readonly free: DeviceView; readonly mask: Uint8Array },
): Preference {
  const { table } = ranking;
  const tiers = tiersOf(ranking, demand);
  const locality = localityOf(table, demand);
  const byPolicy = policyOrder(ranking, { unit, free, mask });
  const compare = (a: number, b: number): number =>
    (tiers === null ? 0 : (tiers.tier[a] as number) - (tiers.tier[b] as number)) ||
    extraKinds(table.kinds[a] as number, unit) - extraKinds(table.kinds[b] as number, unit) ||
    byPolicy(a, b) ||
    (locality === null ? 0 : (locality.held[b] as number) - (locality.held[a] as number)) ||
    a - b;
  return { compare, isRanked: isRankedByLists(ranking) && tiers === null, tiers, locality };
}

export const isRankedByLists = ({ placement }: Ranking): boolean =>
  placement === 'dispersed' || placement === 'concentrated';

function policyOrder(
  ranking: Ranking,
  sought: { readonly unit: Unit; readonly free: DeviceView; readonly mask: Uint8Array },
): (a: number, b: number) => number {
  switch (ranking.placement) {
    case 'dispersed':
    case 'concentrated':
      return (a, b) => compareLeft(ranking, a, b);
    case 'least-allocated':
      return partLeft(ranking.table, sought.unit, sought.mask).compare;
    case 'best-fit-devices': {
      const { compare } = breakage(ranking.table, sought);
      return (a, b) => compare(a, b) || compareLeft(ranking, a, b);
    }
  }
}
