import type { SnapshotDevice, SnapshotNode, SnapshotRoom } from '../contract/snapshot.js';
import { FreeGauge } from './free-gauge.js';

/** So many nodes alike. */
export interface NodeShape {
  readonly count: number;
  /** Names are `prefix-0001` …, so that their order is the order of their numbers. */
  readonly prefix: string;
  readonly gpus: number;
  readonly gpuModel: string;
}

/** A GPU comes with a core and a GiB, so that GPUs are what is short. */
const GIB = 2 ** 30;

type Held = { -readonly [Key in keyof SnapshotDevice]: SnapshotDevice[Key] };

/** The nodes of a run, with what is held on them: changed in place as sessions come and go. */
export class SimulatedCluster {
  readonly nodes: readonly SnapshotNode[];
  readonly gpuCount: number;
  /** What is free, and what would be if nobody were there. */
  readonly free: FreeGauge;
  readonly empty: FreeGauge;
  readonly #byName: ReadonlyMap<string, SnapshotNode>;

  constructor(shapes: readonly NodeShape[]) {
    this.nodes = shapes.flatMap(nodesOf);
    this.gpuCount = this.nodes.reduce((sum, { devices }) => sum + devices.length, 0);
    this.#byName = new Map(this.nodes.map((node) => [node.name, node]));
    const sizes = new Map(this.nodes.map(({ name, devices }) => [name, devices.length]));
    this.free = new FreeGauge(sizes);
    this.empty = new FreeGauge(sizes);
  }

  take(room: SnapshotRoom): void {
    const node = this.#node(room);
    node.used.cpuMilli += room.slots.cpuMilli;
    node.used.memoryBytes += room.slots.memoryBytes;
    for (const device of held(node, room)) {
      if (device.heldBy !== null)
        throw new Error(`${device.id} is promised to ${device.heldBy} and to ${room.kernelId}`);
      device.heldBy = room.kernelId;
    }
    this.free.move([room], -1);
  }

  giveBack(room: SnapshotRoom): void {
    const node = this.#node(room);
    node.used.cpuMilli -= room.slots.cpuMilli;
    node.used.memoryBytes -= room.slots.memoryBytes;
    for (const device of held(node, room)) device.heldBy = null;
    this.free.move([room], 1);
  }

  /** GPUs × factor of what is held there, in thousandths. */
  milliGpusOf(rooms: readonly SnapshotRoom[], factors: Readonly<Record<string, number>>): number {
    let milli = 0;
    for (const room of rooms) {
      const { devices } = this.#node(room);
      for (const id of room.deviceIds) milli += factors[devices.find((one) => one.id === id)?.model ?? ''] ?? 1000;
    }
    return milli;
  }

  #node({ node: name }: SnapshotRoom): SnapshotNode {
    const node = this.#byName.get(name);
    if (node === undefined) throw new Error(`the cluster has no node ${name}`);
    return node;
  }
}

const held = (node: SnapshotNode, { deviceIds }: SnapshotRoom): Held[] =>
  deviceIds.map((id) => {
    const device = node.devices.find((one) => one.id === id);
    if (device === undefined) throw new Error(`node ${node.name} has no device ${id}`);
    return device;
  });

function nodesOf({ count, prefix, ...shape }: NodeShape): SnapshotNode[] {
  const digits = String(count).length;
  return Array.from({ length: count }, (_, index) => {
    const name = `${prefix}-${String(index + 1).padStart(digits, '0')}`;
    return {
      name,
      architecture: 'amd64',
      zone: null,
      state: 'READY',
      capacity: { cpuMilli: shape.gpus * 1000, memoryBytes: shape.gpus * GIB },
      used: { cpuMilli: 0, memoryBytes: 0 },
      devices: Array.from({ length: shape.gpus }, (__, d) => deviceOf(`${name}/${d}`, shape.gpuModel)),
      images: [],
      folders: [],
      drain: null,
      moveAt: null,
    };
  });
}

const deviceOf = (id: string, model: string): SnapshotDevice => ({
  id,
  model,
  memoryBytes: 16 * GIB,
  simulated: true,
  healthy: true,
  sharing: 'none',
  parentId: null,
  heldBy: null,
  shares: [],
});
