import type { Logger } from '../../platform/log.js';
import type { ModelRoute, ModelStore } from '../../store/model-store.js';
import { ModelEntry } from './model-entry.js';
import { oneAtATime } from './one-at-a-time.js';
import { Retired } from './retired.js';
import { Target, type TargetPlace } from './target.js';
import { within } from './within.js';

export interface ModelTableDeps {
  readonly models: Pick<ModelStore, 'routes' | 'route'>;
  /** Opens what was sealed to an instance. */
  readonly openApiKey: (sealed: Buffer, instanceId: string) => string;
  readonly log: Logger;
  readonly everyMs: number;
}

/** Models by name, in memory. While Postgres is away what was last known stands. */
export interface ModelTable {
  get(modelName: string): ModelEntry | undefined;
  entries(): IterableIterator<ModelEntry>;
  /** Postgres told that a claim changed. */
  changed(claimId: string): void;
  /** What was told meanwhile is unknown: reads all at once. */
  readAll(): void;
  /** Called with each entry that was read anew, or that left (`serving` is then `GONE`). */
  onChange(listener: (entry: ModelEntry) => void): void;
  close(): void;
}

/** A read that takes longer has failed. */
const READ_MS = 5_000;
/** So many single reads at once; more changes than that are one whole read. */
const SINGLE_MAX = 16;

/** Resolves when it was read once; throws where that cannot be done. */
export async function openModelTable(deps: ModelTableDeps): Promise<ModelTable> {
  const { models, log, everyMs } = deps;
  const contents = new Contents(deps);
  const changed = new Set<string>();
  const failed = (error: unknown) => log.warn({ err: error }, 'the models could not be read; the last routes stand');

  const wholeRead = async (): Promise<void> => {
    const turn = contents.beginRead();
    contents.takeAll(await within(READ_MS, models.routes()), turn);
  };
  const readChanged = async (): Promise<void> => {
    while (changed.size > 0) {
      const ids = [...changed];
      changed.clear();
      if (ids.length > SINGLE_MAX) await wholeRead();
      else await Promise.all(ids.map(readOne));
    }
  };
  const readOne = async (claimId: string): Promise<void> => {
    const turn = contents.beginRead();
    contents.takeOne(claimId, await within(READ_MS, models.route(claimId)), turn);
  };

  await wholeRead();
  const again = oneAtATime(() => wholeRead().catch(failed));
  const single = oneAtATime(() => readChanged().catch(failed));
  const timer = setInterval(again, everyMs);
  return {
    get: (modelName) => contents.byName.get(modelName),
    entries: () => contents.byName.values(),
    changed(claimId) {
      changed.add(claimId);
      single();
    },
    readAll: again,
    onChange: (listener) => void contents.listeners.push(listener),
    close() {
      clearInterval(timer);
      contents.close();
    },
  };
}

/**
 * Reads overlap, so each has a turn, counted up where it begins: what a read of an earlier turn says of a claim never
 * replaces what a later one said.
 */
class Contents {
  readonly byName = new Map<string, ModelEntry>();
  readonly listeners: ((entry: ModelEntry) => void)[] = [];
  readonly #turns = new Map<string, number>();
  readonly #retired = new Retired();
  readonly #deps: Pick<ModelTableDeps, 'openApiKey' | 'log'>;
  #turn = 0;

  constructor(deps: Pick<ModelTableDeps, 'openApiKey' | 'log'>) {
    this.#deps = deps;
  }

  beginRead(): number {
    this.#turn += 1;
    return this.#turn;
  }

  takeAll(routes: readonly ModelRoute[], turn: number): void {
    const known = new Set<string>();
    for (const route of routes) {
      known.add(route.claimId);
      this.takeOne(route.claimId, route, turn);
    }
    for (const [claimId, last] of this.#turns) {
      if (!known.has(claimId) && last < turn) {
        this.takeOne(claimId, null, turn);
        this.#turns.delete(claimId);
      }
    }
  }

  takeOne(claimId: string, route: ModelRoute | null, turn: number): void {
    if ((this.#turns.get(claimId) ?? 0) > turn) return;
    this.#turns.set(claimId, turn);
    if (route === null) return this.#remove(claimId);
    const entry = this.byName.get(route.modelName) ?? new ModelEntry(route);
    this.byName.set(route.modelName, entry);
    this.#retired.add(entry.take(route, this.#make));
    this.#tell(entry);
  }

  close(): void {
    for (const { targets } of this.byName.values()) for (const target of targets) target.destroy();
    this.#retired.close();
  }

  #remove(claimId: string): void {
    for (const [name, entry] of this.byName) {
      if (entry.route.claimId !== claimId) continue;
      this.byName.delete(name);
      this.#retired.add(entry.take({ ...entry.route, serving: GONE, targets: [] }, this.#make));
      this.#tell(entry);
    }
  }

  readonly #make = (place: TargetPlace): Target => this.#retired.revive(place) ?? new Target(place, this.#keyOf(place));

  /** An engine whose key cannot be opened refuses; the other models go on. */
  #keyOf({ sealedApiKey, instanceId }: TargetPlace): string {
    try {
      return this.#deps.openApiKey(sealedApiKey, instanceId);
    } catch (error) {
      this.#deps.log.error({ err: error, instanceId }, "an engine's key could not be opened");
      return 'unknown';
    }
  }

  #tell(entry: ModelEntry): void {
    for (const listener of this.listeners) listener(entry);
  }
}

/** What `serving` of an entry says that is no longer in the table. */
export const GONE = 'Gone';
