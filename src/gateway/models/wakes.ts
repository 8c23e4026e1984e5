import type { Logger } from '../../platform/log.js';
import type { ModelStore } from '../../store/model-store.js';
import type { ModelEntry } from './model-entry.js';
import { oneAtATime } from './one-at-a-time.js';
import { within } from './within.js';

export interface WakesDeps {
  readonly models: Pick<ModelStore, 'askWakes'>;
  /** Tells a pool's workflow that a row of it changed. */
  readonly kickPool: (pool: string) => Promise<void>;
  readonly log: Logger;
  readonly asked: (wakes: number) => void;
}

/** A model is told of at most so often, however many ask for it. */
const EACH_MS = 1_000;
const ASK_MS = 5_000;
/** What could not be told is told again after so long, and forgotten once nobody asked for longer. */
const AGAIN_MS = 1_000;
const STALE_MS = 60_000;

/** One wake for many requests: told in batches, one at a time, with the time of the last request. */
export class Wakes {
  readonly #deps: WakesDeps;
  readonly #waiting = new Map<string, { readonly entry: ModelEntry; readonly lastRequestMs: number }>();
  readonly #flush: () => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(deps: WakesDeps) {
    this.#deps = deps;
    this.#flush = oneAtATime(() => this.#tell());
  }

  ask(entry: ModelEntry): void {
    const lastRequestMs = Date.now();
    if (lastRequestMs - entry.askedMs < EACH_MS) return;
    entry.asked(lastRequestMs);
    this.#waiting.set(entry.route.claimId, { entry, lastRequestMs });
    this.#flush();
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#waiting.clear();
  }

  async #tell(): Promise<void> {
    const batch = [...this.#waiting.values()].filter(({ entry }) => !entry.isServing);
    this.#waiting.clear();
    if (batch.length === 0) return;
    const claims = batch.map(({ entry, lastRequestMs }) => ({ claimId: entry.route.claimId, lastRequestMs }));
    try {
      const pools = await within(ASK_MS, this.#deps.models.askWakes(claims));
      this.#deps.asked(claims.length);
      for (const pool of pools) void this.#kick(pool);
    } catch (error) {
      this.#deps.log.warn({ err: error, models: claims.length }, 'wakes could not be asked; they are asked again');
      this.#keep(batch);
    }
  }

  #keep(batch: readonly { readonly entry: ModelEntry; readonly lastRequestMs: number }[]): void {
    const nowMs = Date.now();
    for (const asked of batch) {
      const { claimId } = asked.entry.route;
      if (!this.#waiting.has(claimId) && nowMs - asked.lastRequestMs < STALE_MS) this.#waiting.set(claimId, asked);
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#flush();
    }, AGAIN_MS);
  }

  /** Without it the row stands, and the pool's workflow finds it by itself within its net. */
  async #kick(pool: string): Promise<void> {
    try {
      await within(ASK_MS, this.#deps.kickPool(pool));
    } catch (error) {
      this.#deps.log.warn({ err: error, pool }, 'the pool could not be told of a wake; it looks by itself');
    }
  }
}
