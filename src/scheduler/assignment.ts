import type { Slots } from '../contract/slots.js';
import { type Demand, totalOf } from './demand.js';
import { packDevices } from './pack-devices.js';
import { giveBack, type Ranking, take, takeOn } from './ranking.js';

/** Node and devices (by place on the node) of each kernel, in the order of the request's kernels. */
export interface Taken {
  readonly nodeOfKernel: readonly number[];
  readonly devicesOfKernel: readonly (readonly number[])[];
}

/** A placement that is already taken from the table, with one sentence that says by which rule. */
export interface Assignment extends Taken {
  readonly explanation: string;
}

/** `gave-up`: there may be an assignment, but the search's budget ended first. */
export type Attempt = Assignment | 'no-room' | 'gave-up';

/** Takes every kernel from its node; the caller has checked that they fit. */
export function takeAll(ranking: Ranking, demand: Demand, nodeOfKernel: readonly number[]): Taken {
  const devicesOfKernel: (readonly number[])[] = demand.total.isSimple
    ? demand.kernels.map(({ slots }, k) =>
        take(ranking, nodeOfKernel[k] as number, { slots, gpuModel: demand.gpuModel }),
      )
    : takePacked(ranking, demand, nodeOfKernel);
  return { nodeOfKernel, devicesOfKernel };
}

/** Shares and whole devices of one node are chosen together, so that they fit whenever they can. */
function takePacked(ranking: Ranking, demand: Demand, nodeOfKernel: readonly number[]): (readonly number[])[] {
  const { devices } = ranking.table;
  const model = demand.gpuModel === null ? -1 : (devices.modelNumbers.get(demand.gpuModel) ?? -2);
  const devicesOfKernel: (readonly number[])[] = demand.kernels.map(() => []);
  for (const node of new Set(nodeOfKernel)) {
    const members = demand.kernels.map(({ slots }, k) => ({ slots, k })).filter(({ k }) => nodeOfKernel[k] === node);
    const packing = packDevices(devices, node, { unit: totalOf(members), model });
    if (typeof packing === 'string') throw new Error(`the kernels do not fit on node ${node}: ${packing}`);
    for (const { k, places } of placesOf(members, packing)) devicesOfKernel[k] = places;
    for (const { slots, k } of members) takeOn(ranking, node, { slots, devices: devicesOfKernel[k] ?? [] });
  }
  return devicesOfKernel;
}

/** Whole devices by rank; of the shares, the largest first, then by rank. */
function placesOf(
  members: readonly { readonly slots: Readonly<Slots>; readonly k: number }[],
  packing: { readonly whole: readonly number[]; readonly shares: readonly number[] },
): readonly { readonly k: number; readonly places: readonly number[] }[] {
  let next = 0;
  const whole = members.map(({ slots, k }) => {
    const places = packing.whole.slice(next, next + slots.gpuCount);
    next += slots.gpuCount;
    return { k, places };
  });
  const shares = members
    .filter(({ slots }) => slots.gpuMemoryBytes > 0)
    .toSorted((a, b) => b.slots.gpuMemoryBytes - a.slots.gpuMemoryBytes || a.k - b.k)
    .map(({ k }, nth) => ({ k, places: [packing.shares[nth] as number] }));
  return [...whole.filter(({ places }) => places.length > 0), ...shares];
}

/** Undoes a placement, also one of the first kernels only: the table is exactly as before. */
export function giveBackAll(ranking: Ranking, demand: Demand, taken: Taken): void {
  for (const [k, devices] of taken.devicesOfKernel.entries()) {
    const kernel = demand.kernels[k];
    if (kernel !== undefined) giveBack(ranking, taken.nodeOfKernel[k] as number, { slots: kernel.slots, devices });
  }
}
