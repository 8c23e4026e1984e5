import type { Slots } from '../contract/slots.js';
import type { SnapshotPending } from '../contract/snapshot.js';

/** What a placement depends on: a session in the queue has it, and so has a request before admission. */
export interface Request {
  readonly architecture: SnapshotPending['architecture'];
  readonly gpuModel: SnapshotPending['gpuModel'];
  readonly clusterMode: SnapshotPending['clusterMode'];
  readonly kernels: readonly { readonly slots: Readonly<Slots> }[];
}

/** An amount that one node has to hold: millicores, bytes, whole devices. */
export interface Unit {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly gpuCount: number;
  /** Kinds of resource that it uses, as bits: see `KIND`. */
  readonly kinds: number;
}

/** A device and its memory are one kind: a node has both or neither. */
export const KIND = { cpu: 1, memory: 2, gpu: 4 } as const;

export const kindsOf = (cpu: number, memory: number, gpu: number): number =>
  (cpu > 0 ? KIND.cpu : 0) | (memory > 0 ? KIND.memory : 0) | (gpu > 0 ? KIND.gpu : 0);

/** The request as the pass reads it: all kernels together, and each kernel. */
export interface Demand {
  readonly total: Unit;
  /** Sum of the shares of devices that are asked; this group offers whole devices only, so more than 0 never fits. */
  readonly gpuMemoryBytes: number;
  readonly architecture: string | null;
  /** null when no device is asked: a model without devices binds nothing. */
  readonly gpuModel: string | null;
  /** Kernels may lie on different nodes. */
  readonly spread: boolean;
  readonly kernels: readonly { readonly slots: Readonly<Slots> }[];
}

export function demandOf(request: Request): Demand {
  let cpuMilli = 0;
  let memoryBytes = 0;
  let gpuCount = 0;
  let gpuMemoryBytes = 0;
  for (const { slots } of request.kernels) {
    cpuMilli += slots.cpuMilli;
    memoryBytes += slots.memoryBytes;
    gpuCount += slots.gpuCount;
    gpuMemoryBytes += slots.gpuMemoryBytes;
  }
  return {
    total: { cpuMilli, memoryBytes, gpuCount, kinds: kindsOf(cpuMilli, memoryBytes, gpuCount) },
    gpuMemoryBytes,
    architecture: request.architecture,
    gpuModel: gpuCount > 0 ? request.gpuModel : null,
    spread: request.clusterMode === 'multi-node' && request.kernels.length > 1,
    kernels: request.kernels,
  };
}

export const unitOf = (slots: Readonly<Slots>): Unit => ({
  cpuMilli: slots.cpuMilli,
  memoryBytes: slots.memoryBytes,
  gpuCount: slots.gpuCount,
  kinds: kindsOf(slots.cpuMilli, slots.memoryBytes, slots.gpuCount),
});

/** Kernels that ask the same are interchangeable: `members` are their places in the list of kernels. */
export interface KernelClass extends Unit {
  readonly members: readonly number[];
}

/** Distinct kernels, the rarest first, then the hardest to place: the search branches on all but the last class. */
export function kernelClasses(demand: Demand): readonly KernelClass[] {
  const classes = new Map<string, Unit & { readonly members: number[] }>();
  for (const [index, { slots }] of demand.kernels.entries()) {
    const key = `${slots.gpuCount},${slots.cpuMilli},${slots.memoryBytes}`;
    const known = classes.get(key);
    if (known === undefined) classes.set(key, { ...unitOf(slots), members: [index] });
    else known.members.push(index);
  }
  return [...classes.values()].toSorted(
    (a, b) =>
      a.members.length - b.members.length ||
      b.gpuCount - a.gpuCount ||
      b.cpuMilli - a.cpuMilli ||
      b.memoryBytes - a.memoryBytes,
  );
}

/** What one node has to hold at once: everything, or (spread) each class of kernels on its own. */
export const unitsOf = (demand: Demand): readonly Unit[] => (demand.spread ? kernelClasses(demand) : [demand.total]);

/** Equal for requests that nodes cannot tell apart. */
export function shapeKey(demand: Demand): string {
  const shape = demand.spread
    ? kernelClasses(demand).map(
        (unit) => `${unit.members.length}x${unit.gpuCount},${unit.cpuMilli},${unit.memoryBytes}`,
      )
    : [`${demand.total.gpuCount},${demand.total.cpuMilli},${demand.total.memoryBytes}`];
  return JSON.stringify([demand.architecture, demand.gpuModel, demand.gpuMemoryBytes > 0, demand.spread, shape]);
}
