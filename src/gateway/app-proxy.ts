import type { Socket } from 'node:net';
import type { AppCookie, SessionId } from '../contract/index.js';
import type { AppName } from '../platform/app-origin.js';
import { newRequestId } from '../platform/ids.js';
import { refuseUpgrade } from '../platform/join-sockets.js';
import type { Logger } from '../platform/log.js';
import type { AppRoute } from '../store/app-store.js';
import type { Activity } from './activity.js';
import { DoorClosed } from './agent-door.js';
import { type DoorDeps, knock, OWN_PATH, type Welcome } from './doors.js';
import { type Entrance, type EntranceDeps, enter, nodeAway, notListening } from './entrance.js';
import type { Exchange, Forward, Upgrade } from './forward.js';
import type { GatewayMetrics } from './gateway-metrics.js';
import { mayEnter } from './may-enter.js';
import { HIDDEN, type Page, renderPage } from './pages.js';

export interface AppProxyDeps extends EntranceDeps, DoorDeps {
  readonly forward: Forward;
  readonly activity: Activity;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
  readonly scheme: string;
}

/** Everything on the origins of apps. */
export interface AppProxy {
  web(exchange: Exchange, app: AppName): Promise<void>;
  upgrade(upgrade: Upgrade, app: AppName): Promise<void>;
  /** Cuts open sockets whose right no longer stands. */
  recheck(sessionId: SessionId, route: AppRoute | null): void;
}

interface OpenSocket {
  readonly sessionId: SessionId;
  readonly port: string;
  readonly cookie: AppCookie | null;
}

const FAILED: Page = {
  code: 'upstream_failed',
  title: 'The app did not answer',
  detail: 'The app closed the connection before it answered.',
};
const BROKEN: Page = { code: 'internal', title: 'Berth failed', detail: "The gateway's log says more." };
const STRANGE_ORIGIN: Page = {
  code: 'forbidden',
  title: 'Refused',
  detail: 'A socket is opened from the pages of the app itself.',
};

export function createAppProxy(deps: AppProxyDeps): AppProxy {
  const { forward, activity, metrics, log, scheme } = deps;
  const sockets = new Map<Socket, OpenSocket>();

  const answer = (exchange: Exchange, page: Page): void => {
    metrics.answered(page.code);
    sendPage(exchange, page);
  };

  const visit = async (exchange: Exchange, app: AppName): Promise<void> => {
    const { request, response } = exchange;
    if (request.url?.startsWith(OWN_PATH) === true) {
      const welcome = await knock(deps, request, app);
      return welcome === null ? answer(exchange, HIDDEN) : letIn(response, welcome);
    }
    const entrance = await enter(deps, request, app);
    if (entrance.page !== null) return answer(exchange, entrance.page);
    metrics.answered('forwarded');
    response.once('close', activity.begin(entrance.route.sessionId));
    deps.cookies.strip(request.headers);
    forward.web(exchange, upstreamOf(entrance), (error) => answer(exchange, pageOf(error, entrance)));
  };

  const refuse = (upgrade: Upgrade, page: Page): void => {
    metrics.answered(page.code);
    refuseUpgrade(upgrade.socket, renderPage(page, upgrade.request.headers.accept, newRequestId()));
  };

  const broken = (exchange: Exchange, error: unknown): void => {
    log.error({ err: error }, 'a request for an app failed');
    answer(exchange, BROKEN);
  };

  return {
    web: (exchange, app) => visit(exchange, app).catch((error: unknown) => broken(exchange, error)),
    async upgrade(upgrade, app) {
      const { request, socket } = upgrade;
      if (!isOwnOrigin(request.headers, scheme)) return refuse(upgrade, STRANGE_ORIGIN);
      const entrance = await enter(deps, request, app);
      if (entrance.page !== null) return refuse(upgrade, entrance.page);
      const { sessionId } = entrance.route;
      deps.cookies.strip(request.headers);
      try {
        await forward.upgrade(upgrade, upstreamOf(entrance));
      } catch (error) {
        return refuse(upgrade, pageOf(error as Error, entrance));
      }
      if (socket.destroyed) return; // its client did not wait
      metrics.answered('forwarded');
      metrics.opened();
      activity.watch(sessionId, socket);
      sockets.set(socket, { sessionId, port: entrance.port.name, cookie: entrance.cookie });
      socket.once('close', () => void (sockets.delete(socket) && metrics.closed()));
    },
    recheck(sessionId, route) {
      for (const [socket, open] of sockets) {
        if (open.sessionId !== sessionId) continue;
        if (route === null || !mayEnter(route, open.port, { cookie: open.cookie, nowMs: Date.now() }))
          socket.destroySoon();
      }
    },
  };
}

function sendPage({ request, response }: Exchange, page: Page): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const { status, headers, body } = renderPage(page, request.headers.accept, newRequestId());
  const closing = request.complete ? {} : { connection: 'close' }; // the rest of an upload is not worth reading
  response.writeHead(status, { ...headers, ...closing }).end(request.method === 'HEAD' ? undefined : body);
}

function letIn(response: Exchange['response'], { location, setCookie }: Welcome): void {
  const headers = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
  response.writeHead(303, { ...headers, location, 'set-cookie': setCookie }).end();
}

type LetIn = Extract<Entrance, { page: null }>;

const upstreamOf = ({ route, place, port }: LetIn) => ({
  sessionId: route.sessionId,
  place,
  containerPort: port.containerPort,
});

function pageOf(error: Error, { route, place, port }: LetIn): Page {
  if (!(error instanceof DoorClosed)) return FAILED;
  return error.why === 'away' ? nodeAway(route, place.node) : notListening(route, port.containerPort);
}

/** A browser says where a socket comes from, and cannot be made to say otherwise; a program says nothing. */
function isOwnOrigin({ origin, host }: Upgrade['request']['headers'], scheme: string): boolean {
  return origin === undefined || origin.toLowerCase() === `${scheme}://${host ?? ''}`.toLowerCase();
}
