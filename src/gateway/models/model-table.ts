import type { Logger } from '../../platform/log.js';
import type { ModelRoute, ModelStore } from '../../store/model-store.js';
import { ModelEntry } from './model-entry.js';
import { openedKey } from './opened-key.js';
import { Retired } from './retired.js';
import { openRouteReads } from './route-reads.js';
import { Target, type TargetPlace } from './target.js';

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
  entries(): Iterable<ModelEntry>;
  /** Postgres told that a claim changed. */
  changed(claimId: string): void;
  /** What was told meanwhile is unknown: reads all at once. */
  readAll(): void;
  /** Called with each entry that was read anew, or that left (`serving` is then `GONE`). */
  onChange(listener: (entry: ModelEntry) => void): void;
  close(): void;
}

/** Resolves when it was read once; throws where that cannot be done. */
export async function openModelTable(deps: ModelTableDeps): Promise<ModelTable> {
  const { models, log, everyMs } = deps;
  const contents = new Contents(deps);
  const reads = await openRouteReads<ModelRoute>({
    all: () => models.routes(),
    one: (claimId) => models.route(claimId),
    idOf: ({ claimId }) => claimId,
    take: (claimId, route) => contents.take(claimId, route),
    failed: (error) => log.warn({ err: error }, 'the models could not be read; the last routes stand'),
    everyMs,
  });
  return {
    get: (modelName) => contents.byName.get(modelName),
    entries: () => contents.byName.values(),
    changed: (claimId) => reads.changed(claimId),
    readAll: () => reads.readAll(),
    onChange: (listener) => void contents.listeners.push(listener),
    close() {
      reads.close();
      contents.close();
    },
  };
}

class Contents {
  readonly byName = new Map<string, ModelEntry>();
  readonly listeners: ((entry: ModelEntry) => void)[] = [];
  readonly #retired = new Retired();
  readonly #deps: Pick<ModelTableDeps, 'openApiKey' | 'log'>;

  constructor(deps: Pick<ModelTableDeps, 'openApiKey' | 'log'>) {
    this.#deps = deps;
  }

  take(claimId: string, route: ModelRoute | null): void {
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

  readonly #make = (place: TargetPlace): Target =>
    this.#retired.revive(place) ?? new Target(place, openedKey(place, this.#deps));

  #tell(entry: ModelEntry): void {
    for (const listener of this.listeners) listener(entry);
  }
}

/** What `serving` of an entry says that is no longer in the table. */
export const GONE = 'Gone';
