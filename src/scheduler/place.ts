import { type Attempt, giveBackAll, takeAll } from './assignment.js';
import type { Demand } from './demand.js';
import { explainOneNode } from './explain-placement.js';
import { deviceViewOf, holds, openNodesOf } from './node-table.js';
import { pickNode } from './pick-node.js';
import { placeSpread } from './place-spread.js';
import type { Ranking } from './ranking.js';

/** Finds room for all kernels of the request or for none, and takes it from the table. One node is preferred. */
export function place(ranking: Ranking, demand: Demand): Attempt {
  if (demand.contradicts) return 'no-room';
  const mask = openNodesOf(ranking.table, demand.architecture);
  const free = deviceViewOf(ranking.table, demand.gpuModel);
  const picked = pickNode(ranking, { unit: demand.total, mask, free });
  if (picked.node < 0) return demand.spread ? placeSpread(ranking, demand) : 'no-room';
  const explanation = explainOneNode(ranking, picked, demand);
  const nodeOfKernel = demand.kernels.map(() => picked.node);
  return { ...takeAll(ranking, demand, nodeOfKernel), explanation };
}

/** Whether the table could take the request; nothing stays taken. A search that gave up counts as yes. */
export function canPlace(ranking: Ranking, demand: Demand): boolean {
  const { table } = ranking;
  const wanted = { unit: demand.total, free: deviceViewOf(table, demand.gpuModel) };
  const mask = openNodesOf(table, demand.architecture);
  if (mask.some((open, i) => open === 1 && holds(table, i, wanted))) return true;
  if (!demand.spread) return false;
  const attempt = placeSpread(ranking, demand);
  if (typeof attempt === 'string') return attempt === 'gave-up';
  giveBackAll(ranking, demand, attempt);
  return true;
}
