import type { Slots } from '../contract/slots.js';
import type { SnapshotPending } from '../contract/snapshot.js';

/** What a placement depends on: a session in the queue has it, and so has a request before admission. */
export interface Request
  extends Partial<
    Pick<
      SnapshotPending,
      'projectId' | 'wishes' | 'avoid' | 'image' | 'folders' | 'minRuntimeSeconds' | 'gracePeriodSeconds'
    >
  > {
  readonly architecture: SnapshotPending['architecture'];
  readonly gpuModel: SnapshotPending['gpuModel'];
  readonly clusterMode: SnapshotPending['clusterMode'];
  readonly kernels: readonly { readonly slots: Readonly<Slots> }[];
}

/** An amount that one node has to hold: millicores, bytes, whole devices and shares of devices. */
export interface Unit {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly gpuCount: number;
  /** The largest of the shares. */
  readonly gpuMemoryBytes: number;
  /** Each share of ONE device, largest first. */
  readonly shares: readonly number[];
  /** Whole devices only, or one share only: they never get in one another's way. */
  readonly isSimple: boolean;
  /** Kinds of resource that it uses, as bits: see `KIND`. */
  readonly kinds: number;
}

/** A device and its memory are one kind: a node has both or neither. */
export const KIND = { cpu: 1, memory: 2, gpu: 4 } as const;

export const kindsOf = (cpu: number, memory: number, gpu: number): number =>
  (cpu > 0 ? KIND.cpu : 0) | (memory > 0 ? KIND.memory : 0) | (gpu > 0 ? KIND.gpu : 0);

/** Where it may and would like to be, and what else of it decides on a node. */
export interface Wishes {
  readonly wishes: SnapshotPending['wishes'] | null;
  /** Nodes where it failed: not used while another could hold it. */
  readonly avoid: readonly string[];
  /** Seconds that it cannot be stopped within: its minimum runtime and its grace. */
  readonly staysSeconds: number;
  /** Of its replica group, within its project; null where that does not matter. */
  readonly replicaKey: string | null;
  readonly image: string | null;
  readonly folders: readonly string[];
}

/** The request as the pass reads it: all kernels together, and each kernel. */
export interface Demand extends Wishes {
  readonly total: Unit;
  /** Sum of the shares of devices that are asked. */
  readonly gpuMemoryBytes: number;
  readonly architecture: string | null;
  /** null when no device is asked: a model without devices binds nothing. */
  readonly gpuModel: string | null;
  /** A kernel asks for whole devices and for a share at once: it is never placed. */
  readonly contradicts: boolean;
  /** Kernels may lie on different nodes. */
  readonly spread: boolean;
  readonly kernels: readonly { readonly slots: Readonly<Slots> }[];
  /** Nodes that are left alone for others; decided by the pass. */
  readonly closed?: ReadonlySet<string>;
}

const NOTHING: readonly never[] = [];

export function demandOf(request: Request): Demand {
  const total = totalOf(request.kernels);
  let gpuMemoryBytes = 0;
  for (const bytes of total.shares) gpuMemoryBytes += bytes;
  const { wishes = null } = request;
  return {
    total,
    gpuMemoryBytes,
    architecture: request.architecture,
    gpuModel: total.gpuCount > 0 || gpuMemoryBytes > 0 ? request.gpuModel : null,
    contradicts:
      total.gpuCount > 0 &&
      gpuMemoryBytes > 0 &&
      request.kernels.some(({ slots }) => slots.gpuCount > 0 && slots.gpuMemoryBytes > 0),
    spread: request.clusterMode === 'multi-node' && request.kernels.length > 1,
    kernels: request.kernels,
    wishes,
    avoid: request.avoid ?? NOTHING,
    staysSeconds: (request.minRuntimeSeconds ?? 0) + (request.gracePeriodSeconds ?? 0),
    replicaKey:
      wishes === null || wishes.spread === 'none' || wishes.replicaGroup === null
        ? null
        : replicaKeyOf(request.projectId ?? '', wishes.replicaGroup),
    image: request.image ?? null,
    folders: request.folders ?? NOTHING,
  };
}

/** Replica groups of two projects are two groups, whatever they are called. */
export const replicaKeyOf = (projectId: string, replicaGroup: string): string => `${projectId}/${replicaGroup}`;

export function totalOf(kernels: Request['kernels']): Unit {
  const only = kernels[0];
  if (kernels.length === 1 && only !== undefined) return unitOf(only.slots);
  let cpuMilli = 0;
  let memoryBytes = 0;
  let gpuCount = 0;
  const shares: number[] = [];
  for (const { slots } of kernels) {
    cpuMilli += slots.cpuMilli;
    memoryBytes += slots.memoryBytes;
    gpuCount += slots.gpuCount;
    if (slots.gpuMemoryBytes > 0) shares.push(slots.gpuMemoryBytes);
  }
  return unit({ cpuMilli, memoryBytes, gpuCount, shares: shares.toSorted((a, b) => b - a) });
}

function unit(amounts: Pick<Unit, 'cpuMilli' | 'memoryBytes' | 'gpuCount' | 'shares'>): Unit {
  const { cpuMilli, memoryBytes, gpuCount, shares } = amounts;
  return {
    cpuMilli,
    memoryBytes,
    gpuCount,
    gpuMemoryBytes: shares[0] ?? 0,
    shares,
    isSimple: shares.length === 0 || (shares.length === 1 && gpuCount === 0),
    kinds: kindsOf(cpuMilli, memoryBytes, gpuCount + shares.length),
  };
}

export const unitOf = ({ cpuMilli, memoryBytes, gpuCount, gpuMemoryBytes }: Readonly<Slots>): Unit =>
  unit({ cpuMilli, memoryBytes, gpuCount, shares: gpuMemoryBytes > 0 ? [gpuMemoryBytes] : NOTHING });

/** Kernels that ask the same are interchangeable: `members` are their places in the list of kernels. */
export interface KernelClass extends Unit {
  readonly members: readonly number[];
}

const CLASSES = new WeakMap<Demand, readonly KernelClass[]>();

/**
 * Distinct kernels, the rarest first, then the hardest to place: the search branches on all but the last class. Kept with
 * the demand, which is asked for them at every step of its way.
 */
export function kernelClasses(demand: Demand): readonly KernelClass[] {
  const known = CLASSES.get(demand);
  if (known !== undefined) return known;
  const classes = classesOf(demand.kernels);
  CLASSES.set(demand, classes);
  return classes;
}

function classesOf(kernels: Demand['kernels']): readonly KernelClass[] {
  const classes = new Map<string, Unit & { readonly members: number[] }>();
  for (const [index, { slots }] of kernels.entries()) {
    const key = `${slots.gpuCount},${slots.gpuMemoryBytes},${slots.cpuMilli},${slots.memoryBytes}`;
    const known = classes.get(key);
    if (known === undefined) classes.set(key, { ...unitOf(slots), members: [index] });
    else known.members.push(index);
  }
  return [...classes.values()].toSorted(
    (a, b) =>
      a.members.length - b.members.length ||
      b.gpuCount - a.gpuCount ||
      b.gpuMemoryBytes - a.gpuMemoryBytes ||
      b.cpuMilli - a.cpuMilli ||
      b.memoryBytes - a.memoryBytes,
  );
}

/** What one node has to hold at once: everything, or (spread) each class of kernels on its own. */
export const unitsOf = (demand: Demand): readonly Unit[] => (demand.spread ? kernelClasses(demand) : [demand.total]);

const unitKey = (each: Unit): string =>
  `${each.gpuCount},${each.cpuMilli},${each.memoryBytes}${each.shares.length === 0 ? '' : `,${each.shares.join('+')}`}`;

/**
 * Equal for requests that the same nodes are open to and that need the same: what they would like and avoid apart. How long
 * one stays decides on its nodes only where some node is to move.
 */
export function shapeKey(demand: Demand, someMove = true): string {
  const shape = demand.spread ? kernelClasses(demand).map(classKey).join(' ') : unitKey(demand.total);
  const stays = someMove ? demand.staysSeconds : '';
  return `${shape};${stays};${namesKey(demand)}`;
}

const classKey = (each: KernelClass): string => `${each.members.length}x${unitKey(each)}`;

/** Last in the key and quoted: no name can look like another part. Most requests name nothing. */
function namesKey(demand: Demand): string {
  const { architecture, gpuModel } = demand;
  const required = requiredKey(demand);
  return architecture === null && gpuModel === null && required === ''
    ? ''
    : JSON.stringify([architecture, gpuModel, required]);
}

/** Equal for requests that require the same nodes and zone; '' for those that require none. */
export function requiredKey({ wishes }: Demand): string {
  if (wishes === null || (!wishes.nodesRequired && !wishes.zoneRequired)) return '';
  const nodes = wishes.nodesRequired ? wishes.nodes.toSorted() : null;
  return JSON.stringify([nodes, wishes.zoneRequired ? wishes.zone : null]);
}
