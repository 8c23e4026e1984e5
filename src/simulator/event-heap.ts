/** A binary heap by time; of one moment, the first that was put comes first, so that a run is the same each time. */
export class EventHeap<Event> {
  readonly #items: { readonly atMs: number; readonly order: number; readonly event: Event }[] = [];
  #puts = 0;

  get size(): number {
    return this.#items.length;
  }
  /** Infinity when it is empty. */
  get nextMs(): number {
    return this.#items[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  put(atMs: number, event: Event): void {
    const items = this.#items;
    items.push({ atMs, order: (this.#puts += 1), event });
    for (let i = items.length - 1; i > 0; ) {
      const above = (i - 1) >> 1;
      if (!this.#isBefore(i, above)) break;
      this.#swap(i, above);
      i = above;
    }
  }

  take(): Event | undefined {
    const first = this.#items[0];
    const last = this.#items.pop();
    if (first === undefined || last === undefined) return undefined;
    if (this.#items.length === 0) return first.event;
    this.#items[0] = last;
    for (let i = 0; ; ) {
      const left = 2 * i + 1;
      let least = left < this.#items.length && this.#isBefore(left, i) ? left : i;
      if (left + 1 < this.#items.length && this.#isBefore(left + 1, least)) least = left + 1;
      if (least === i) return first.event;
      this.#swap(i, least);
      i = least;
    }
  }

  #isBefore(i: number, j: number): boolean {
    const a = this.#items[i]!;
    const b = this.#items[j]!;
    return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
  }
  #swap(i: number, j: number): void {
    const kept = this.#items[i]!;
    this.#items[i] = this.#items[j]!;
    this.#items[j] = kept;
  }
}
