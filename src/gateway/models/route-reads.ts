import { oneAtATime } from './one-at-a-time.js';
import { within } from './within.js';

export interface RouteReadsDeps<Route> {
  readonly all: () => Promise<readonly Route[]>;
  readonly one: (id: string) => Promise<Route | null>;
  readonly idOf: (route: Route) => string;
  /** Null: it is no longer there. */
  readonly take: (id: string, route: Route | null) => void;
  readonly failed: (error: unknown) => void;
  readonly everyMs: number;
}

/** Routes read whole each `everyMs`, and one by one as Postgres tells of a change. */
export interface RouteReads {
  changed(id: string): void;
  /** What was told meanwhile is unknown: reads all at once. */
  readAll(): void;
  close(): void;
}

/** A read that takes longer has failed. */
const READ_MS = 5_000;
/** So many single reads at once; more changes than that are one whole read. */
const SINGLE_MAX = 16;

/** Resolves when all were read once; throws where that cannot be done. */
export async function openRouteReads<Route>(deps: RouteReadsDeps<Route>): Promise<RouteReads> {
  const turns = new Turns(deps);
  const changed = new Set<string>();
  const wholeRead = async (): Promise<void> => {
    const turn = turns.begin();
    turns.takeAll(await within(READ_MS, deps.all()), turn);
  };
  const readOne = async (id: string): Promise<void> => {
    const turn = turns.begin();
    turns.takeOne(id, await within(READ_MS, deps.one(id)), turn);
  };
  const readChanged = async (): Promise<void> => {
    while (changed.size > 0) {
      const ids = [...changed];
      changed.clear();
      if (ids.length > SINGLE_MAX) await wholeRead();
      else await Promise.all(ids.map(readOne));
    }
  };
  await wholeRead();
  const again = oneAtATime(() => wholeRead().catch(deps.failed));
  const single = oneAtATime(() => readChanged().catch(deps.failed));
  const timer = setInterval(again, deps.everyMs);
  return {
    changed(id) {
      changed.add(id);
      single();
    },
    readAll: again,
    close: () => clearInterval(timer),
  };
}

/**
 * Reads overlap, so each has a turn, counted up where it begins: what a read of an earlier turn says of a route never
 * replaces what a later one said.
 */
class Turns<Route> {
  readonly #deps: Pick<RouteReadsDeps<Route>, 'idOf' | 'take'>;
  readonly #last = new Map<string, number>();
  #turn = 0;

  constructor(deps: Pick<RouteReadsDeps<Route>, 'idOf' | 'take'>) {
    this.#deps = deps;
  }

  begin(): number {
    this.#turn += 1;
    return this.#turn;
  }

  takeAll(routes: readonly Route[], turn: number): void {
    const known = new Set<string>();
    for (const route of routes) {
      const id = this.#deps.idOf(route);
      known.add(id);
      this.takeOne(id, route, turn);
    }
    for (const [id, last] of this.#last) {
      if (known.has(id) || last >= turn) continue;
      this.takeOne(id, null, turn);
      this.#last.delete(id);
    }
  }

  takeOne(id: string, route: Route | null, turn: number): void {
    if ((this.#last.get(id) ?? 0) > turn) return;
    this.#last.set(id, turn);
    this.#deps.take(id, route);
  }
}
