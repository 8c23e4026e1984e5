import type { GpuTime } from './gpu-time.js';

/** What is charged from `startMs` on, and until `endMs` (null: it still holds). Instants are ms of one clock. */
export interface ChargedInterval {
  readonly startMs: number;
  readonly endMs: number | null;
  /** GPUs × factor, in thousandths. */
  readonly milliGpus: number;
}

interface Change {
  readonly atMs: number;
  readonly milliGpus: number;
}

/**
 * The charged GPU-time of one budget within the half-open window [now − W, now), kept as time goes on: each start and end
 * is looked at twice, when it happens and when it leaves the window, so a look costs what has changed and not what is kept.
 * Exact at both edges: integers only.
 */
export class WindowUse {
  readonly #windowMs: number;
  /** Changes that the head has passed and the tail has not, by time. */
  #inside: Change[] = [];
  #firstInside = 0;
  /** Changes after `#nowMs`, by time. */
  #ahead: Change[] = [];
  #nowMs: number;
  #tailMs: number;
  #headRate = 0;
  #tailRate = 0;
  #sum: GpuTime = 0;

  constructor(windowMs: number, nowMs: number) {
    this.#windowMs = windowMs;
    this.#nowMs = nowMs;
    this.#tailMs = nowMs - windowMs;
  }

  /** All of them at once: sorted once. An interval that ended before the window began is left out by the caller or costs its sorting. */
  static of(windowMs: number, nowMs: number, intervals: Iterable<ChargedInterval>): WindowUse {
    const from = nowMs - windowMs;
    const changes: Change[] = [];
    for (const { startMs, endMs, milliGpus } of intervals) {
      if (endMs !== null && endMs <= from) continue;
      changes.push({ atMs: startMs, milliGpus });
      if (endMs !== null) changes.push({ atMs: endMs, milliGpus: -milliGpus });
    }
    changes.sort((a, b) => a.atMs - b.atMs);
    const use = new WindowUse(windowMs, Math.min(changes[0]?.atMs ?? nowMs, nowMs));
    use.#ahead = changes;
    use.advance(nowMs);
    return use;
  }

  get sum(): GpuTime {
    return this.#sum;
  }
  /** What is held now, GPUs × factor in thousandths. */
  get heldMilliGpus(): number {
    return this.#headRate;
  }

  /** Moves the window on; a moment before the last one is refused, since what left it is forgotten. */
  advance(nowMs: number): GpuTime {
    if (nowMs < this.#nowMs) throw new Error(`the window is at ${this.#nowMs} and does not go back to ${nowMs}`);
    this.#moveHead(nowMs);
    this.#moveTail(nowMs - this.#windowMs);
    return this.#sum;
  }

  /** A start (positive) or an end (negative) at a moment that may lie in the past of the window, or ahead. */
  change(atMs: number, milliGpus: number): void {
    const change = { atMs, milliGpus };
    if (atMs > this.#nowMs) {
      insert(this.#ahead, change, 0);
      return;
    }
    const from = this.#nowMs - this.#windowMs;
    this.#headRate += milliGpus;
    this.#sum += milliGpus * (this.#nowMs - Math.max(atMs, from));
    if (atMs <= from) this.#tailRate += milliGpus;
    else insert(this.#inside, change, this.#firstInside);
  }

  /** Takes a charge back as if it had never been: a failure of the platform. `endMs` null: it holds no more. */
  withdraw({ startMs, endMs, milliGpus }: ChargedInterval): void {
    this.change(startMs, -milliGpus);
    if (endMs !== null) this.change(endMs, milliGpus);
  }

  #moveHead(nowMs: number): void {
    let passed = 0;
    for (const change of this.#ahead) {
      if (change.atMs > nowMs) break;
      passed += 1;
      this.#sum += this.#headRate * (change.atMs - this.#nowMs);
      this.#nowMs = change.atMs;
      this.#headRate += change.milliGpus;
      this.#inside.push(change);
    }
    if (passed > 0) this.#ahead = this.#ahead.slice(passed);
    this.#sum += this.#headRate * (nowMs - this.#nowMs);
    this.#nowMs = nowMs;
  }

  #moveTail(fromMs: number): void {
    for (;;) {
      const change = this.#inside[this.#firstInside];
      if (change === undefined || change.atMs > fromMs) break;
      this.#sum -= this.#tailRate * (change.atMs - this.#tailMs);
      this.#tailMs = change.atMs;
      this.#tailRate += change.milliGpus;
      this.#firstInside += 1;
    }
    this.#sum -= this.#tailRate * (fromMs - this.#tailMs);
    this.#tailMs = fromMs;
    this.#forgetOld();
  }

  #forgetOld(): void {
    if (this.#firstInside < 1024 || this.#firstInside * 2 < this.#inside.length) return;
    this.#inside = this.#inside.slice(this.#firstInside);
    this.#firstInside = 0;
  }
}

/** Into its place by time, at or after `from`; the usual one goes to the end. */
function insert(changes: Change[], change: Change, from: number): void {
  let low = from;
  let high = changes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((changes[middle] as Change).atMs <= change.atMs) low = middle + 1;
    else high = middle;
  }
  changes.splice(low, 0, change);
}
