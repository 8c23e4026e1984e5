import type { Unit } from './demand.js';
import type { DeviceView } from './device-table.js';
import { holds } from './node-table.js';
import { compareNodes, type Ranking, rankedLists } from './ranking.js';

export interface Candidates {
  readonly unit: Unit;
  /** 1 for each node that may be looked at. */
  readonly mask: Uint8Array;
  readonly free: DeviceView;
}

export interface Picked {
  /** The first in rank with room, or -1. */
  readonly node: number;
  /** The second, or -1. */
  readonly next: number;
}

/**
 * The first two nodes in rank order that hold the unit now. Usually the head of a list does; where the heads have no
 * room the lists are read on, and nothing is allocated per node.
 */
export function pickNode(ranking: Ranking, candidates: Candidates): Picked {
  const compare = compareNodes(ranking, candidates.unit);
  let best = -1;
  let next = -1;
  if (ranking.lists === undefined && !someHasRoom(ranking, candidates)) return { node: best, next };
  for (const { nodes } of rankedLists(ranking)) {
    let position = -1;
    for (let found = 0; found < 2; found += 1) {
      position = nextWithRoom(ranking, candidates, { nodes, after: position });
      if (position < 0) break;
      const node = nodes[position] as number;
      if (best < 0 || compare(node, best) < 0) {
        next = best;
        best = node;
      } else if (next < 0 || compare(node, next) < 0) next = node;
    }
  }
  return { node: best, next };
}

/** Spares a full group the sorting of its nodes. */
const someHasRoom = ({ table }: Ranking, { unit, mask, free }: Candidates): boolean =>
  mask.some((open, i) => open === 1 && holds(table, i, { unit, free }));

function nextWithRoom(
  { table }: Ranking,
  { unit, mask, free }: Candidates,
  { nodes, after }: { readonly nodes: Int32Array; readonly after: number },
): number {
  for (let position = after + 1; position < nodes.length; position += 1) {
    const i = nodes[position] as number;
    if (mask[i] === 1 && holds(table, i, { unit, free })) return position;
  }
  return -1;
}
