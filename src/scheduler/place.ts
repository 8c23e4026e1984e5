import { type Assignment, type Attempt, giveBackAll, takeAll } from './assignment.js';
import type { Demand } from './demand.js';
import { explainOneNode, explainShares } from './explain-placement.js';
import { deviceViewOf, holds, releasedTable } from './node-table.js';
import { nodesOpenTo } from './nodes-open-to.js';
import { packShares } from './pack-devices.js';
import { pickNode } from './pick-node.js';
import { placeSpread } from './place-spread.js';
import { type Ranking, rankingOf, replicaCounts } from './ranking.js';
import { alikeFit } from './units-on.js';

/**
 * Finds room for all kernels of the request or for none, and takes it from the table, which a failure leaves as it was.
 * One node is preferred; `within` are the nodes that may be looked at. Nodes where the request failed are used only if no other READY node could hold it when empty.
 */
export function place(ranking: Ranking, demand: Demand, within: Uint8Array = nodesToTry(ranking, demand)): Attempt {
  if (demand.contradicts) return 'no-room';
  let gaveUp = false;
  for (const mask of preferredMasks(ranking, demand, within)) {
    const attempt = placeOn(ranking, demand, mask);
    if (typeof attempt !== 'string') {
      countReplica(ranking, demand, attempt, 1);
      return demand.gpuMemoryBytes === 0
        ? attempt
        : { ...attempt, explanation: attempt.explanation + explainShares(ranking.table, demand, attempt) };
    }
    gaveUp ||= attempt === 'gave-up';
  }
  return gaveUp ? 'gave-up' : 'no-room';
}

/** Undoes `place`: the table is as before. */
export function unplace(ranking: Ranking, demand: Demand, assignment: Assignment): void {
  giveBackAll(ranking, demand, assignment);
  countReplica(ranking, demand, assignment, -1);
}

/** Whether the table could take the request; nothing stays taken. A search that gave up counts as yes. */
export function canPlace(ranking: Ranking, demand: Demand): boolean {
  return !demand.contradicts && canPlaceOn(ranking, demand, nodesOpenTo(ranking.table, demand));
}

function canPlaceOn(ranking: Ranking, demand: Demand, mask: Uint8Array): boolean {
  const { table } = ranking;
  const sought = { unit: demand.total, free: deviceViewOf(table, demand.gpuModel) };
  if (mask.some((open, i) => open === 1 && holds(table, i, sought))) return true;
  const counted = alikeFit(table, demand, mask);
  if (counted !== null) return counted;
  const attempt = demand.spread ? placeSpread(ranking, demand, mask) : onOneNode(ranking, demand, mask);
  if (typeof attempt === 'string') return attempt === 'gave-up';
  giveBackAll(ranking, demand, attempt);
  return true;
}

function placeOn(ranking: Ranking, demand: Demand, mask: Uint8Array): Attempt {
  if (alikeFit(ranking.table, demand, mask) === false) return 'no-room';
  const attempt = onOneNode(ranking, demand, mask);
  return typeof attempt === 'string' && demand.spread ? placeSpread(ranking, demand, mask) : attempt;
}

function onOneNode(ranking: Ranking, demand: Demand, mask: Uint8Array): Attempt {
  const free = deviceViewOf(ranking.table, demand.gpuModel);
  const picked = pickNode(ranking, demand, { unit: demand.total, mask, free });
  if (picked === null) return packingGaveUp(ranking, demand, mask) ? 'gave-up' : 'no-room';
  const explanation = explainOneNode(ranking, picked, demand);
  const nodeOfKernel = demand.kernels.map(() => picked.node);
  return { ...takeAll(ranking, demand, nodeOfKernel), explanation };
}

/** Several shares on one node are packed by a search, which has a budget. */
function packingGaveUp({ table }: Ranking, { total: unit, gpuModel }: Demand, mask: Uint8Array): boolean {
  if (unit.isSimple) return false;
  const { model } = deviceViewOf(table, gpuModel);
  return mask.some((open, i) => open === 1 && packShares(table.devices, i, { unit, model }) === 'gave-up');
}

/** All open nodes but those where it failed, unless no other could hold it even when empty. */
export function nodesToTry(ranking: Ranking, demand: Demand): Uint8Array {
  const open = withoutClosed(ranking, demand, nodesOpenTo(ranking.table, demand));
  const others = withoutFailed(ranking, demand, open);
  return others === null ? open : others;
}

function withoutClosed({ table }: Ranking, { closed }: Demand, open: Uint8Array): Uint8Array {
  if (closed === undefined) return open;
  let masks = CLOSED.get(closed);
  if (masks === undefined) CLOSED.set(closed, (masks = new WeakMap()));
  let mask = masks.get(open);
  if (mask === undefined) {
    mask = open.map((each, i) => (closed.has(table.nodes[i]?.name ?? '') ? 0 : each));
    masks.set(open, mask);
  }
  return mask;
}

/** What is closed to a request, and the nodes that are open otherwise, are the same for many. */
const CLOSED = new WeakMap<ReadonlySet<string>, WeakMap<Uint8Array, Uint8Array>>();

/** null: there is nothing to avoid, or nowhere else to go. */
export function withoutFailed(ranking: Ranking, demand: Demand, open: Uint8Array): Uint8Array | null {
  if (demand.avoid.length === 0) return null;
  const { nodes } = ranking.table;
  const failed = new Set(demand.avoid);
  const others = open.map((each, i) => (failed.has(nodes[i]?.name ?? '') ? 0 : each));
  if (!others.includes(1)) return null;
  ranking.idle ??= rankingOf(releasedTable(ranking.table, 'empty'), ranking);
  return canPlaceOn(ranking.idle, demand, others) ? others : null;
}

/**
 * Kernels that may lie apart: the preferred nodes, and then the preferred zone, are tried alone first. A request for one
 * node needs no such tries: its order of nodes begins with them.
 */
function preferredMasks({ table }: Ranking, { spread, wishes }: Demand, mask: Uint8Array): readonly Uint8Array[] {
  if (!spread || wishes === null) return [mask];
  const within = (of: Uint8Array, isIn: (i: number) => boolean): Uint8Array =>
    of.map((each, i) => (each === 1 && isIn(i) ? 1 : 0));
  const masks = [mask];
  if (wishes.zone !== null && !wishes.zoneRequired)
    masks.unshift(within(mask, (i) => table.nodes[i]?.zone === wishes.zone));
  if (wishes.nodes.length > 0 && !wishes.nodesRequired) {
    const names = new Set<string | undefined>(wishes.nodes);
    masks.unshift(...masks.map((each) => within(each, (i) => names.has(table.nodes[i]?.name))));
  }
  return masks;
}

/** Once per node that it lies on. */
function countReplica(
  { table, replicas }: Ranking,
  { replicaKey }: Demand,
  ...[{ nodeOfKernel }, by]: readonly [Assignment, 1 | -1]
): void {
  if (replicaKey === null) return;
  const counts = replicaCounts(replicas, table, replicaKey);
  for (const node of new Set(nodeOfKernel)) counts[node] = (counts[node] as number) + by;
}
