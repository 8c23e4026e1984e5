import type { Demand, Unit } from './demand.js';
import type { DeviceView } from './device-table.js';
import { holds } from './node-table.js';
import { isRankedByLists, type Preference, preferenceOf } from './preference.js';
import { compareLeft, type RankedList, type Ranking, rankedLists } from './ranking.js';

export interface Candidates {
  readonly unit: Unit;
  /** 1 for each node that may be looked at. */
  readonly mask: Uint8Array;
  readonly free: DeviceView;
}

export interface Picked {
  /** The first in rank with room. */
  readonly node: number;
  /** One that comes after it, the second where locality does not decide; -1 when no other has room. */
  readonly next: number;
  readonly preference: Preference;
}

/**
 * The first nodes in order of preference that hold the unit now, or null. Usually the head of a list does; where the
 * heads have no room the lists are read on, and nothing is allocated per node. Policies that look at the request, and
 * requests with wishes, are compared node by node.
 */
export function pickNode(ranking: Ranking, demand: Demand, candidates: Candidates): Picked | null {
  const listsAreThere = ranking.lists !== undefined && isRankedByLists(ranking);
  if (!listsAreThere && !someHasRoom(ranking, candidates)) return null;
  const preference = preferenceOf(ranking, demand, candidates);
  const isListed = preference.isRanked && (ranking.isScratch !== true || demand.spread);
  const { node, next } = isListed
    ? firstOfLists(ranking, candidates, preference)
    : firstOfAll(ranking, candidates, preference);
  return node < 0 ? null : { node, next, preference };
}

/** Spares a full group the sorting of its nodes. */
function someHasRoom({ table }: Ranking, sought: Candidates): boolean {
  const { mask } = sought;
  for (let i = 0; i < mask.length; i += 1) if (mask[i] === 1 && holds(table, i, sought)) return true;
  return false;
}

type Pair = Pick<Picked, 'node' | 'next'>;

function firstOfAll({ table }: Ranking, sought: Candidates, { compare }: Preference): Pair {
  const { mask } = sought;
  let node = -1;
  let next = -1;
  for (let i = 0; i < mask.length; i += 1) {
    if (mask[i] === 0 || !holds(table, i, sought)) continue;
    if (node < 0 || compare(i, node) < 0) {
      next = node;
      node = i;
    } else if (next < 0 || compare(i, next) < 0) next = i;
  }
  return { node, next };
}

function firstOfLists(ranking: Ranking, candidates: Candidates, preference: Preference): Pair {
  let node = -1;
  let next = -1;
  const offer = (i: number): void => {
    if (node < 0 || preference.compare(i, node) < 0) {
      next = node;
      node = i;
    } else if (next < 0 || preference.compare(i, next) < 0) next = i;
  };
  for (const { nodes } of rankedLists(ranking)) {
    const first = nextWithRoom(ranking, candidates, { nodes, after: -1 });
    if (first < 0) continue;
    offer(nodes[first] as number);
    const nearer = nearerBy(ranking, candidates, { nodes, first, locality: preference.locality });
    if (nearer >= 0) offer(nearer);
    const second = nextWithRoom(ranking, candidates, { nodes, after: first });
    if (second >= 0 && nodes[second] !== nearer) offer(nodes[second] as number);
  }
  return { node, next };
}

/** Of the nodes with room that tie with the first but for the name, the one that holds most of what the request reads; -1: none more than the first. */
function nearerBy(
  ranking: Ranking,
  sought: Candidates,
  { nodes, first, locality }: Pick<RankedList, 'nodes'> & { readonly first: number } & Pick<Preference, 'locality'>,
): number {
  if (locality === null) return -1;
  const { held, most } = locality;
  const head = nodes[first] as number;
  let best = -1;
  let bestHeld = held[head] as number;
  for (let position = first + 1; position < nodes.length && bestHeld < most; position += 1) {
    const i = nodes[position] as number;
    if (compareLeft(ranking, head, i) !== 0) break;
    if ((held[i] as number) <= bestHeld || sought.mask[i] === 0 || !holds(ranking.table, i, sought)) continue;
    best = i;
    bestHeld = held[i] as number;
  }
  return best;
}

function nextWithRoom(
  { table }: Ranking,
  sought: Candidates,
  { nodes, after }: { readonly nodes: Int32Array; readonly after: number },
): number {
  const { mask } = sought;
  for (let position = after + 1; position < nodes.length; position += 1) {
    const i = nodes[position] as number;
    if (mask[i] === 1 && holds(table, i, sought)) return position;
  }
  return -1;
}
