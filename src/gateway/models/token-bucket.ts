/** So many a minute; a minute's worth at once. May be overdrawn: what an answer cost is known when it has ended. */
export class TokenBucket {
  readonly perMinute: number;
  readonly capacity: number;
  #left: number;
  #atMs: number;

  /** `share`: of how many processes that serve the same key. */
  constructor(perMinute: number, share: number, nowMs: number) {
    this.perMinute = perMinute;
    this.capacity = Math.max(1, perMinute / share);
    this.#left = this.capacity;
    this.#atMs = nowMs;
  }

  left(nowMs: number): number {
    this.#fill(nowMs);
    return this.#left;
  }

  take(amount: number, nowMs: number): void {
    this.#fill(nowMs);
    this.#left -= amount;
  }

  /** Until there is as much as `amount`; 0 where there is now. */
  secondsUntil(amount: number, nowMs: number): number {
    const missing = amount - this.left(nowMs);
    return missing <= 0 ? 0 : (missing / this.capacity) * 60;
  }

  #fill(nowMs: number): void {
    this.#left = Math.min(this.capacity, this.#left + ((nowMs - this.#atMs) / 60_000) * this.capacity);
    this.#atMs = nowMs;
  }
}
