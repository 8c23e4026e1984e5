import type { SessionId } from '../contract/index.js';
import type { Logger } from '../platform/log.js';
import type { AppRoute, AppStore } from '../store/app-store.js';
import type { EventStore } from '../store/store.js';

export interface RouteTableDeps {
  readonly apps: Pick<AppStore, 'routes' | 'route'>;
  readonly events: Pick<EventStore, 'listen'>;
  readonly log: Logger;
  readonly everyMs: number;
}

/** Sessions with ports, in memory: read whole each 1–2 s, and one by one as Postgres tells of a change. */
export interface RouteTable {
  /** Open ones alone. */
  get(sessionId: SessionId): AppRoute | undefined;
  /** Asks Postgres where the table does not know it: an ended one, or one of a moment ago. */
  find(sessionId: SessionId): Promise<AppRoute | null>;
  /** Called with each route that changed, and with null for one that is no longer open. */
  onChange(listener: (sessionId: SessionId, route: AppRoute | null) => void): void;
  close(): Promise<void>;
}

const ENDED = new Set(['TERMINATED', 'CANCELLED', 'ERROR']);
export const isOpen = ({ state }: AppRoute): boolean => !ENDED.has(state);

/** Resolves when it was read once; throws where that fails, and leaves nothing. While Postgres is away the last table stands. */
export async function openRouteTable({ apps, events, log, everyMs }: RouteTableDeps): Promise<RouteTable> {
  let routes: ReadonlyMap<SessionId, AppRoute> = new Map();
  const listeners: ((sessionId: SessionId, route: AppRoute | null) => void)[] = [];
  const tell = (id: SessionId, route: AppRoute | null) => listeners.forEach((listener) => listener(id, route));

  const replace = (fresh: readonly AppRoute[]) => {
    const before = routes;
    routes = new Map(fresh.map((route) => [route.sessionId, route]));
    for (const [id, route] of routes) if (!isSame(before.get(id), route)) tell(id, route);
    for (const id of before.keys()) if (!routes.has(id)) tell(id, null);
  };
  const readOne = async (id: SessionId): Promise<void> => {
    const route = await apps.route(id);
    if (route === null) return;
    const known = new Map(routes);
    if (isOpen(route)) known.set(id, route);
    else known.delete(id);
    routes = known;
    tell(id, isOpen(route) ? route : null);
  };
  const failed = (error: unknown) =>
    log.warn({ err: error }, 'the routing table could not be read; the last one stands');
  const again = oneAtATime(async () => apps.routes().then(replace, failed));

  await apps.routes().then(replace);
  const session = (id: string) => void readOne(id as SessionId).catch(failed);
  const listening = await events.listen({ session, reconnect: again });
  const timer = setInterval(again, everyMs);
  return {
    get: (id) => routes.get(id),
    find: async (id) => routes.get(id) ?? apps.route(id),
    onChange: (listener) => void listeners.push(listener),
    close: async () => {
      clearInterval(timer);
      await listening.close();
    },
  };
}

const isSame = (before: AppRoute | undefined, now: AppRoute): boolean =>
  before !== undefined && JSON.stringify(before) === JSON.stringify(now);

/** A call while one runs is left out: the next one comes soon. */
function oneAtATime(work: () => Promise<void>): () => void {
  let running = false;
  return () => {
    if (running) return;
    running = true;
    void work().finally(() => (running = false));
  };
}
