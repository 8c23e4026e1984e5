import type { SnapshotPending } from '../contract/snapshot.js';
import { compareQueueOrder } from '../scheduler/queue-order.js';

/** Those who wait, in the order of the queue: found, put and taken by binary search. */
export class WaitingQueue {
  readonly #items: SnapshotPending[] = [];

  get size(): number {
    return this.#items.length;
  }
  at(index: number): SnapshotPending | undefined {
    return this.#items[index];
  }
  slice(from: number, to: number): readonly SnapshotPending[] {
    return this.#items.slice(from, to);
  }

  put(pending: SnapshotPending): void {
    this.#items.splice(this.#placeOf(pending), 0, pending);
  }

  /** Without effect when it does not wait. `pending` is what was put: its priority says where it stands. */
  take(pending: SnapshotPending): void {
    const index = this.#placeOf(pending);
    if (this.#items[index]?.id === pending.id) this.#items.splice(index, 1);
  }

  /** The same session with other facts, at the place that they give it. */
  replace(before: SnapshotPending, after: SnapshotPending): void {
    const index = this.#placeOf(before);
    if (this.#items[index]?.id !== before.id) return;
    if (before.priority === after.priority) {
      this.#items[index] = after;
      return;
    }
    this.#items.splice(index, 1);
    this.put(after);
  }

  /** The first place whose session does not come before it. */
  #placeOf(pending: SnapshotPending): number {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareQueueOrder(this.#items[middle] as SnapshotPending, pending) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
