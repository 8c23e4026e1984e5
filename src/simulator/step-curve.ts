/** A value that changes from moment to moment, in two columns of numbers: millions of changes are a few megabytes. */
export class StepCurve {
  #atMs = new Float64Array(1024);
  #values = new Float64Array(1024);
  #size = 0;

  get size(): number {
    return this.#size;
  }
  /** 0 before the first change. */
  get last(): number {
    return this.#size === 0 ? 0 : (this.#values[this.#size - 1] as number);
  }

  /** From then on; not before the last change. Without effect where nothing changes. */
  put(atMs: number, value: number): void {
    if (this.#size > 0 && this.last === value) return;
    if (this.#size === this.#atMs.length) {
      this.#atMs = grown(this.#atMs);
      this.#values = grown(this.#values);
    }
    this.#atMs[this.#size] = atMs;
    this.#values[this.#size] = value;
    this.#size += 1;
  }

  /** Each stretch of one value, the last one without an end. */
  forEach(visit: (fromMs: number, toMs: number, value: number) => void): void {
    for (let i = 0; i < this.#size; i += 1) {
      const toMs = i + 1 < this.#size ? (this.#atMs[i + 1] as number) : Number.POSITIVE_INFINITY;
      visit(this.#atMs[i] as number, toMs, this.#values[i] as number);
    }
  }

  /** Value × ms within a window. */
  integral({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }): number {
    let sum = 0;
    this.forEach((from, to, value) => {
      sum += value * Math.max(0, Math.min(to, toMs) - Math.max(from, fromMs));
    });
    return sum;
  }

  /** `[ms, value]` of each change. */
  get points(): readonly (readonly [number, number])[] {
    return Array.from({ length: this.#size }, (_, i) => [this.#atMs[i] as number, this.#values[i] as number] as const);
  }

  get max(): number {
    return this.#values.subarray(0, this.#size).reduce((most, value) => Math.max(most, value), 0);
  }
}

function grown(column: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(column.length * 2);
  larger.set(column);
  return larger;
}
