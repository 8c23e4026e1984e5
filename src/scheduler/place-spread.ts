import { type Attempt, giveBackAll, type Taken, takeAll } from './assignment.js';
import { type Demand, type KernelClass, kernelClasses, unitOf } from './demand.js';
import { explainSpread } from './explain-placement.js';
import { deviceViewOf, holds } from './node-table.js';

import { pickNode } from './pick-node.js';
import { preferenceOf } from './preference.js';
import { type Ranking, take } from './ranking.js';
import { type Room, searchAssignment } from './search-assignment.js';
import { type PackingMemory, shareableBytes, shareRoomOf } from './share-room.js';

/** The nodes that one attempt may use, and the zone they are, when it is one. */
interface Region {
  readonly zone: string | null;
  readonly mask: Uint8Array;
}

/**
 * Places kernels that no single node holds together: within one zone if any zone holds them all (zones in the policy's
 * order of what is left, then by name), else over all nodes. In each region first kernel by kernel as the policy says;
 * where that fails an exact search looks ahead, so that an assignment is found if there is one.
 */
export function placeSpread(ranking: Ranking, demand: Demand, mask: Uint8Array): Attempt {
  const everywhere: Region = { zone: null, mask };
  if (!sumSuffices(ranking, demand, everywhere)) return 'no-room';
  const classes = kernelClasses(demand);
  let gaveUp = false;
  for (const region of [...zonesOf(ranking, everywhere), everywhere]) {
    if (!sumSuffices(ranking, demand, region)) continue;
    const greedy = kernelByKernel(ranking, { demand, region });
    // Kernels that are all alike never get in one another's way: kernel by kernel finds room whenever there is any.
    const found = greedy ?? (classes.length === 1 ? 'none' : lookAhead(ranking, { demand, region, classes }));
    if (found === 'gave-up') gaveUp = true;
    if (typeof found === 'string') continue;
    const searched = greedy === null;
    return { ...found, explanation: explainSpread(ranking, { ...found, zone: region.zone, searched }) };
  }
  return gaveUp ? 'gave-up' : 'no-room';
}

function sumSuffices({ table }: Ranking, demand: Demand, { mask }: Region): boolean {
  const free = deviceViewOf(table, demand.gpuModel);
  let gpu = 0;
  let cpu = 0;
  let memory = 0;
  let shares = 0;
  for (let i = 0; i < mask.length; i += 1) {
    if (mask[i] === 0) continue;
    gpu += free.whole[i] as number;
    cpu += Math.max(0, table.cpuMilli[i] as number);
    memory += Math.max(0, table.memoryBytes[i] as number);
    if (demand.gpuMemoryBytes > 0) shares += shareableBytes(table.devices, i, free.model);
  }
  const { total } = demand;
  if (shares < demand.gpuMemoryBytes) return false;
  return gpu >= total.gpuCount && cpu >= total.cpuMilli && memory >= total.memoryBytes;
}

/** Nodes without a zone belong to none. */
function zonesOf(ranking: Ranking, everywhere: Region): readonly Region[] {
  const { table } = ranking;
  const masks = new Map<string, Uint8Array>();
  const sums = new Map<string, number[]>();
  for (const [i, { zone }] of table.nodes.entries()) {
    if (zone === null || everywhere.mask[i] === 0) continue;
    const mask = masks.get(zone) ?? new Uint8Array(table.nodes.length);
    mask[i] = 1;
    masks.set(zone, mask);
    const sum = sums.get(zone) ?? ranking.order.map(() => 0);
    for (const [k, amounts] of ranking.order.entries()) sum[k] = (sum[k] as number) + (amounts[i] as number);
    sums.set(zone, sum);
  }
  const compare = ([a]: readonly [string, Uint8Array], [b]: readonly [string, Uint8Array]): number => {
    for (const [k, amount] of (sums.get(a) ?? []).entries()) {
      const more = ((sums.get(b)?.[k] as number) - amount) * ranking.sign;
      if (more !== 0) return more;
    }
    return a < b ? -1 : 1;
  };
  return [...masks].toSorted(compare).map(([zone, mask]) => ({ zone, mask }));
}

/** Each kernel in turn to the first node in rank for it; all is given back when one finds none. */
function kernelByKernel(
  ranking: Ranking,
  { demand, region }: { readonly demand: Demand; readonly region: Region },
): Taken | null {
  const free = deviceViewOf(ranking.table, demand.gpuModel);
  const nodeOfKernel: number[] = [];
  const devicesOfKernel: (readonly number[])[] = [];
  for (const { slots } of demand.kernels) {
    const picked = pickNode(ranking, demand, { unit: unitOf(slots), mask: region.mask, free });
    if (picked === null) {
      giveBackAll(ranking, demand, { nodeOfKernel, devicesOfKernel });
      return null;
    }
    nodeOfKernel.push(picked.node);
    devicesOfKernel.push(take(ranking, picked.node, { slots, gpuModel: demand.gpuModel }));
  }
  return { nodeOfKernel, devicesOfKernel };
}

interface LookAhead {
  readonly demand: Demand;
  readonly region: Region;
  readonly classes: readonly KernelClass[];
}

function lookAhead(ranking: Ranking, { demand, region, classes }: LookAhead): Taken | 'none' | 'gave-up' {
  const { table } = ranking;
  const free = deviceViewOf(table, demand.gpuModel);
  const holdsSome = (i: number): boolean =>
    region.mask[i] === 1 && classes.some((unit) => holds(table, i, { unit, free }));
  const indices = Array.from(table.nodes.keys()).filter(holdsSome);
  const nodes = indices.toSorted(
    preferenceOf(ranking, demand, { unit: demand.total, free, mask: region.mask }).compare,
  );
  const memory: PackingMemory = new Map();
  const rooms = nodes.map(
    (i): Room => ({
      cpuMilli: table.cpuMilli[i] as number,
      memoryBytes: table.memoryBytes[i] as number,
      gpuCount: free.whole[i] as number,
      ...(demand.gpuMemoryBytes > 0 && { shares: shareRoomOf(table.devices, i, { model: free.model, memory }) }),
    }),
  );
  const found = searchAssignment({ rooms, classes });
  if (found === 'none' && [...memory.values()].includes('gave-up')) return 'gave-up';
  if (typeof found === 'string') return found;
  return takeAll(ranking, demand, nodesOfKernels(found.counts, { nodes, classes, kernels: demand.kernels.length }));
}

/** Kernels of a class, lowest rank first, fill the nodes in rank order. */
function nodesOfKernels(
  counts: readonly (readonly number[])[],
  {
    nodes,
    classes,
    kernels,
  }: { readonly nodes: readonly number[]; readonly classes: readonly KernelClass[]; readonly kernels: number },
): readonly number[] {
  const nodeOfKernel = new Array<number>(kernels).fill(-1);
  for (const [c, { members }] of classes.entries()) {
    let next = 0;
    for (const [n, row] of counts.entries()) {
      for (let taken = 0; taken < (row[c] as number); taken += 1) {
        nodeOfKernel[members[next] as number] = nodes[n] as number;
        next += 1;
      }
    }
  }
  return nodeOfKernel;
}
