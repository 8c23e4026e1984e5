import type { SnapshotNode } from '../contract/snapshot.js';
import type { Demand } from './demand.js';
import { type Ranking, replicaCounts } from './ranking.js';

/** More sessions of one replica group than any node has. */
const MANY = 2 ** 20;

/** What the request wishes of a node, as one number: the lower, the better. */
export interface Tiers {
  readonly tier: Float64Array;
  /** What made node `a` come before node `b`, in words. Their tiers differ. */
  readonly because: (a: number, b: number) => string;
}

/**
 * Designated nodes first, then those of the preferred zone, then by sessions of the same replica group: the fewest
 * (spread) or the most (pack). null where nothing is wished that is not required anyway.
 */
export function tiersOf(ranking: Ranking, demand: Demand): Tiers | null {
  const { wishes, replicaKey } = demand;
  if (wishes === null) return null;
  const prefersNodes = wishes.nodes.length > 0 && !wishes.nodesRequired;
  const prefersZone = wishes.zone !== null && !wishes.zoneRequired;
  if (!prefersNodes && !prefersZone && replicaKey === null) return null;
  const { table, replicas } = ranking;
  const names = new Set<string>(prefersNodes ? wishes.nodes : []);
  const counts = replicaKey === null ? null : replicaCounts(replicas, table, replicaKey);
  const tier = new Float64Array(table.nodes.length);
  for (let i = 0; i < tier.length; i += 1) {
    const { name, zone } = table.nodes[i] as SnapshotNode;
    const outside = (prefersNodes && !names.has(name) ? 2 : 0) + (prefersZone && zone !== wishes.zone ? 1 : 0);
    const count = counts === null ? 0 : (counts[i] as number);
    tier[i] = outside * MANY + (wishes.spread === 'pack' ? MANY - 1 - count : count);
  }
  const because = (a: number, b: number): string => {
    const [inA, inB] = [a, b].map((i) => Math.floor((tier[i] as number) / MANY)) as [number, number];
    if (inA >> 1 !== inB >> 1) return 'it is one of the nodes that the request prefers';
    if (inA !== inB) return `it is in zone ${wishes.zone}, which the request prefers`;
    const [has, least] = [counts?.[a] ?? 0, wishes.spread === 'pack' ? 'most' : 'fewest'];
    return `it has the ${least} sessions of replica group ${wishes.replicaGroup} (${has})`;
  };
  return { tier, because };
}
