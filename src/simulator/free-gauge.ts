import type { SnapshotPending, SnapshotRoom } from '../contract/snapshot.js';

type Asked = Pick<SnapshotPending, 'kernels'>;

/** How many GPUs are free on each node, and how many nodes have so many free: enough to see who surely finds no room. */
export class FreeGauge {
  readonly #free: Map<string, number>;
  /** By free GPUs: the number of nodes. */
  readonly #nodes: number[];
  #sum: number;

  constructor(freeByNode: ReadonlyMap<string, number>) {
    this.#free = new Map(freeByNode);
    this.#nodes = new Array<number>(Math.max(0, ...freeByNode.values()) + 1).fill(0);
    this.#sum = 0;
    for (const free of freeByNode.values()) {
      this.#nodes[free] = (this.#nodes[free] ?? 0) + 1;
      this.#sum += free;
    }
  }

  /** False: nobody has room for it, whoever places it. True says nothing. */
  mayHold({ kernels }: Asked): boolean {
    let total = 0;
    let largest = 0;
    for (const { slots } of kernels) {
      total += slots.gpuCount;
      if (slots.gpuCount > largest) largest = slots.gpuCount;
    }
    return total <= this.#sum && largest <= this.#most();
  }

  /** True: the nodes have room for all of its kernels, each as large as the largest, side by side. False says nothing. */
  surelyHolds({ kernels }: Asked): boolean {
    const largest = Math.max(1, ...kernels.map(({ slots }) => slots.gpuCount));
    let places = 0;
    for (const [free, nodes] of this.#nodes.entries()) places += nodes * Math.floor(free / largest);
    return places >= kernels.length;
  }

  /** `sign` −1: the rooms are taken; 1: given back. */
  move(rooms: readonly Pick<SnapshotRoom, 'node' | 'slots'>[], sign: 1 | -1): void {
    for (const { node, slots } of rooms) {
      const before = this.#free.get(node) ?? 0;
      const after = before + sign * slots.gpuCount;
      this.#free.set(node, after);
      this.#nodes[before] = (this.#nodes[before] ?? 0) - 1;
      this.#nodes[after] = (this.#nodes[after] ?? 0) + 1;
      this.#sum += after - before;
    }
  }

  #most(): number {
    let free = this.#nodes.length - 1;
    while (free > 0 && this.#nodes[free] === 0) free -= 1;
    return free;
  }
}
