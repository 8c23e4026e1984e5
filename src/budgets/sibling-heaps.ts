import { compareLoadsAt, type LoadColumns } from './gpu-time.js';
import type { TreeIndex } from './tree-index.js';

const ROOT = 0;

/**
 * At each fork the children with something pending below them, the first in order on top: the least load / weight, then
 * the older pending request, then the name. A choice costs the logarithm of the siblings on its way. Loads are shared with the
 * caller, and only rise; what is pending only becomes younger.
 */
export class SiblingHeaps {
  readonly #index: TreeIndex;
  readonly #columns: LoadColumns;
  /** Of the oldest request below, ms; Infinity where there is none. */
  readonly #oldest: Float64Array;
  readonly #heaps: (number[] | undefined)[];
  /** In its parent's heap; −1: it is not in it. */
  readonly #place: Int32Array;

  /** `oldest`: of each leaf, by number, Infinity where nothing is pending; it is used up. */
  constructor(index: TreeIndex, loads: Float64Array, oldest: Float64Array) {
    this.#index = index;
    this.#columns = { loads, weights: index.weight };
    this.#oldest = oldest;
    this.#heaps = new Array<number[] | undefined>(oldest.length).fill(undefined);
    this.#place = new Int32Array(oldest.length).fill(-1);
    for (let i = oldest.length - 1; i > 0; i -= 1) {
      const own = oldest[i] as number;
      if (own === Number.POSITIVE_INFINITY) continue;
      const above = index.parent[i] as number;
      oldest[above] = Math.min(oldest[above] as number, own);
      const heap = (this.#heaps[above] ??= []);
      this.#place[i] = heap.length;
      heap.push(i);
    }
    for (const heap of this.#heaps) {
      if (heap === undefined) continue;
      for (let k = (heap.length >> 1) - 1; k >= 0; k -= 1) this.#sink(heap, k);
    }
  }

  /** The leaf that is next; −1 when nothing is pending. */
  first(): number {
    if (this.#oldest[ROOT] === Number.POSITIVE_INFINITY) return -1;
    let at = ROOT;
    for (let heap = this.#heaps[at]; heap !== undefined && heap.length > 0; heap = this.#heaps[at])
      at = heap[0] as number;
    return at;
  }

  /** After a request of the leaf was taken: the oldest of what is left. */
  setOldest(leaf: number, oldestMs: number): void {
    let at = leaf;
    let own = oldestMs;
    while (at !== ROOT) {
      const before = this.#oldest[at] as number;
      if (own === before) return;
      this.#oldest[at] = own;
      const above = this.#index.parent[at] as number;
      const heap = this.#heaps[above] as number[];
      if (own === Number.POSITIVE_INFINITY) this.#remove(heap, this.#place[at] as number);
      else this.#sink(heap, this.#place[at] as number);
      own = this.#oldestBelow(above, before);
      at = above;
    }
    this.#oldest[ROOT] = own;
  }

  /** After the load of the budget rose. */
  sink(i: number): void {
    const place = this.#place[i] as number;
    if (place >= 0) this.#sink(this.#heaps[this.#index.parent[i] as number] as number[], place);
  }

  /** One of its children was as old as `before`, and is not any more. The root has no siblings: whether anything is pending is enough. */
  #oldestBelow(above: number, before: number): number {
    const heap = this.#heaps[above] as number[];
    if (heap.length === 0) return Number.POSITIVE_INFINITY;
    const known = this.#oldest[above] as number;
    if (above === ROOT || before > known) return known;
    let least = Number.POSITIVE_INFINITY;
    for (const child of heap) least = Math.min(least, this.#oldest[child] as number);
    return least;
  }

  #isBefore(a: number, b: number): boolean {
    const loads = compareLoadsAt(this.#columns, a, b);
    return (loads || (this.#oldest[a] as number) - (this.#oldest[b] as number) || a - b) < 0;
  }

  #sink(heap: number[], from: number): void {
    const moving = heap[from] as number;
    let k = from;
    for (;;) {
      let child = 2 * k + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.#isBefore(heap[child + 1] as number, heap[child] as number)) child += 1;
      if (!this.#isBefore(heap[child] as number, moving)) break;
      this.#put(heap, k, heap[child] as number);
      k = child;
    }
    this.#put(heap, k, moving);
  }

  #remove(heap: number[], place: number): void {
    this.#place[heap[place] as number] = -1;
    const last = heap.pop() as number;
    if (place === heap.length) return;
    this.#put(heap, place, last);
    this.#rise(heap, place);
    this.#sink(heap, this.#place[last] as number);
  }

  #rise(heap: number[], from: number): void {
    const moving = heap[from] as number;
    let k = from;
    while (k > 0) {
      const above = (k - 1) >> 1;
      if (!this.#isBefore(moving, heap[above] as number)) break;
      this.#put(heap, k, heap[above] as number);
      k = above;
    }
    this.#put(heap, k, moving);
  }

  #put(heap: number[], place: number, i: number): void {
    heap[place] = i;
    this.#place[i] = place;
  }
}
