import type { SnapshotNode } from '../contract/snapshot.js';
import { type Demand, requiredKey } from './demand.js';
import { type NodeTable, openNodesOf } from './node-table.js';

/**
 * 1 for each node that the request may use, if it has room: open, of the architecture, among the required nodes and in
 * the required zone, and not to leave the group before the request could be stopped. Kept by what decides on it.
 */
export function nodesOpenTo(table: NodeTable, demand: Demand): Uint8Array {
  const open = openNodesOf(table, demand.architecture);
  const required = requiredKey(demand);
  const moves = table.view === 'ever' ? undefined : moveTimes(table);
  if (required === '' && moves === undefined) return open;
  const until = moves === undefined ? '' : table.atMs + demand.staysSeconds * 1000;
  const key = `${demand.architecture ?? ''}|${until}|${required}`;
  const known = table.masks.get(key);
  if (known !== undefined) return known;
  const allows = requirement(demand);
  const mask = open.map((each, i) =>
    each === 1 && allows(table.nodes[i] as SnapshotNode) && !movesTooSoon(table, i, demand) ? 1 : 0,
  );
  table.masks.set(key, mask);
  return mask;
}

/** Whether the node is one of those that the request requires, and in the zone that it requires. */
export function requirement({ wishes }: Demand): (node: Pick<SnapshotNode, 'name' | 'zone'>) => boolean {
  if (wishes === null) return () => true;
  const names = wishes.nodesRequired ? new Set<string>(wishes.nodes) : undefined;
  const zone = wishes.zoneRequired ? wishes.zone : null;
  return (node) => (names === undefined || names.has(node.name)) && (zone === null || node.zone === zone);
}

/** Whether node `i` is to be empty for another group before work that starts now could be gone from it. */
export function movesTooSoon(table: NodeTable, i: number, { staysSeconds }: Demand): boolean {
  const moves = moveTimes(table);
  return moves !== undefined && table.atMs + staysSeconds * 1000 > (moves[i] as number);
}

/** Whether any node is to leave the group: only then it matters how long a request stays. */
export const someMove = (table: NodeTable): boolean => moveTimes(table) !== undefined;

/** Milliseconds since 1970 by node, Infinity for those that stay; undefined when all stay. */
function moveTimes(table: NodeTable): Float64Array | undefined {
  if (table.moves === undefined) {
    const someMoves = table.nodes.some(({ moveAt }) => moveAt !== null);
    table.moves = someMoves
      ? Float64Array.from(table.nodes, ({ moveAt }) =>
          moveAt === null ? Number.POSITIVE_INFINITY : Date.parse(moveAt),
        )
      : null;
  }
  return table.moves ?? undefined;
}
