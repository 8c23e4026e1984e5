import type { Target, TargetPlace } from './target.js';

/** A drain of a claim takes 90 s at most: what then still goes to an engine off the route goes to one that is lost. */
const DRAINED_MS = 100_000;
const LOOK_MS = 5_000;

/** Targets off the route: what is under way to them ends by itself, or is broken off after the longest drain. */
export class Retired<T extends Target = Target> {
  readonly #since = new Map<T, number>();
  readonly #drainedMs: number;
  #timer: NodeJS.Timeout | null = null;

  constructor(drainedMs = DRAINED_MS) {
    this.#drainedMs = drainedMs;
  }

  add(targets: readonly T[]): void {
    if (targets.length === 0) return;
    const nowMs = performance.now();
    for (const target of targets) this.#since.set(target, nowMs);
    this.#timer ??= setInterval(() => this.#look(performance.now()), LOOK_MS).unref();
  }

  /** The one that was at this place before, with what is still under way to it. */
  revive(place: TargetPlace): T | undefined {
    for (const target of this.#since.keys()) if (target.isAt(place) && this.#since.delete(target)) return target;
    return undefined;
  }

  close(): void {
    for (const target of this.#since.keys()) target.destroy();
    this.#since.clear();
    this.#stop();
  }

  #look(nowMs: number): void {
    for (const [target, sinceMs] of this.#since) {
      if (target.inFlight > 0 && nowMs - sinceMs < this.#drainedMs) continue;
      target.destroy();
      this.#since.delete(target);
    }
    if (this.#since.size === 0) this.#stop();
  }

  #stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}
