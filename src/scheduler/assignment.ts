import type { Demand } from './demand.js';
import { giveBack, type Ranking, take } from './ranking.js';

/** Node and device indices of each kernel, in the order of the request's kernels. */
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
  const devicesOfKernel = demand.kernels.map(({ slots }, k) =>
    take(ranking, nodeOfKernel[k] as number, { slots, gpuModel: demand.gpuModel }),
  );
  return { nodeOfKernel, devicesOfKernel };
}

/** Undoes a placement, also one of the first kernels only: the table is exactly as before. */
export function giveBackAll(ranking: Ranking, demand: Demand, taken: Taken): void {
  for (const [k, devices] of taken.devicesOfKernel.entries()) {
    const kernel = demand.kernels[k];
    if (kernel !== undefined) giveBack(ranking, taken.nodeOfKernel[k] as number, { slots: kernel.slots, devices });
  }
}
