import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { JSONWebKeySet } from 'jose';
import type { Registry } from 'prom-client';
import type { Why } from '../contract/index.js';
import { appOfHost } from '../platform/app-origin.js';
import { newRequestId } from '../platform/ids.js';
import { refuseUpgrade } from '../platform/join-sockets.js';
import type { Logger } from '../platform/log.js';
import type { TokenSigner } from '../platform/tokens.js';
import type { AppStore } from '../store/app-store.js';
import type { SessionStore } from '../store/session-store.js';
import type { EventStore } from '../store/store.js';
import { createActivity, type RecordActivity } from './activity.js';
import { createAgentDoor } from './agent-door.js';
import { createAppCookies } from './app-cookies.js';
import { createAppProxy } from './app-proxy.js';
import type { DeploymentGateway } from './deployments/create-deployment-gateway.js';
import { DEPLOYMENT_PREFIX } from './deployments/paths.js';
import { createForward, type Exchange } from './forward.js';
import { gatewayMetrics } from './gateway-metrics.js';
import { MODEL_PREFIX } from './models/paths.js';
import { openRouteTable } from './route-table.js';
import { createTickets } from './tickets.js';
import { openTunnel } from './tunnels.js';
import { createUpstreams } from './upstreams.js';

/** All that the gateway is put together from; adapters are handed in. */
export interface GatewayDeps {
  readonly apps: AppStore;
  readonly events: Pick<EventStore, 'listen'>;
  readonly locate: SessionStore['locateKernel'];
  readonly why: (sessionId: Parameters<AppStore['route']>[0]) => Promise<Why | null>;
  readonly recordActivity: RecordActivity;
  readonly signer: TokenSigner;
  readonly verifyKeys: JSONWebKeySet;
  readonly log: Logger;
  readonly registry: Registry;
  /** Endpoints of deployments and models by name, on every host that is no app's; closed with the gateway. */
  readonly deployments?: DeploymentGateway;
  readonly options: GatewayOptions;
}

export interface GatewayOptions {
  /** Unique among gateways, and the same after a restart: it reports activity under it. */
  readonly name: string;
  /** Apps are at `<port>--<session>.` before its host; with https the cookies are Secure. */
  readonly appsUrl: string;
  readonly tableEveryMs: number;
  readonly activityEveryMs: number;
}

export const GATEWAY_DEFAULTS = { tableEveryMs: 1_500, activityEveryMs: 10_000 } as const;

export interface Gateway {
  /** Answers the port; 0 takes a free one. */
  listen(place: { readonly host: string; readonly port: number }): Promise<number>;
  /** Answers of models may end, within a limit; open streams of apps are cut; activity that was not told yet is. */
  close(): Promise<void>;
}

const KEEP_ALIVE_MS = 75_000;
const HEADERS_MS = 60_000;

/** The proxy before the ports of sessions, and the door for terminals and port-forwards. Stateless: run as many as you like. */
export async function createGateway(deps: GatewayDeps): Promise<Gateway> {
  const { apps, events, signer, verifyKeys, log, options } = deps;
  const { protocol, hostname } = new URL(options.appsUrl);
  const table = await openRouteTable({ apps, events, log, everyMs: options.tableEveryMs });
  const door = createAgentDoor(signer);
  const upstreams = createUpstreams(door);
  const cookies = createAppCookies({ signer, verifyKeys, isSecure: protocol === 'https:' });
  const takeTicket = createTickets(verifyKeys, apps);
  const { recordActivity: record } = deps;
  const activity = createActivity({ gateway: options.name, record, everyMs: options.activityEveryMs, log });
  const scheme = protocol.slice(0, -1);
  const forward = createForward(upstreams, { scheme, cookieName: cookies.name });
  const metrics = gatewayMetrics(deps.registry);
  const proxy = createAppProxy({ table, cookies, takeTicket, why: deps.why, forward, activity, log, scheme, metrics });

  table.onChange((sessionId, route) => {
    upstreams.keepOnly(sessionId, route?.place == null ? null : { ...route.place, attempt: route.attempt });
    proxy.recheck(sessionId, route);
  });

  const server = createServer({ requestTimeout: 0, headersTimeout: HEADERS_MS, keepAliveTimeout: KEEP_ALIVE_MS });
  server.on('request', (request, response) => {
    const app = appOfHost(hostname, request.headers.host);
    if (app === null) answerOwn(deps.deployments, { request, response });
    else void proxy.web({ request, response }, app);
  });
  const sockets = new Set<Socket>();
  server.on('upgrade', (request, socket: Socket, head) => {
    sockets.add(socket.once('close', () => sockets.delete(socket)));
    socket.on('error', () => socket.destroy());
    const app = appOfHost(hostname, request.headers.host);
    const upgrade = { request, socket, head };
    if (app === null && deps.deployments !== undefined && request.url?.startsWith(DEPLOYMENT_PREFIX))
      return deps.deployments.upgrade(upgrade);
    const opened = app === null ? throughTunnel(upgrade) : proxy.upgrade(upgrade, app);
    opened.catch((error: unknown) => {
      log.error({ err: error }, 'a connection through the gateway failed');
      socket.destroy();
    });
  });
  const throughTunnel = async (upgrade: Parameters<typeof openTunnel>[1]): Promise<void> => {
    const isTunnel = upgrade.request.url?.startsWith('/_berth/tunnel?') === true;
    const status = isTunnel ? await openTunnel({ door, takeTicket, locate: deps.locate, activity }, upgrade) : 404;
    if (status !== null) refuseUpgrade(upgrade.socket, { status });
  };

  return {
    listen: (place) => listening(server, place),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await deps.deployments?.close();
      server.closeAllConnections();
      for (const socket of sockets) socket.destroy();
      upstreams.close();
      await Promise.all([closed, table.close()]);
      await activity.close();
    },
  };
}

function answerOwn(deployments: DeploymentGateway | undefined, { request, response }: Exchange): void {
  const { url = '/' } = request;
  if (deployments !== undefined && url.startsWith(MODEL_PREFIX)) deployments.models.web(request, response);
  else if (deployments !== undefined && url.startsWith(DEPLOYMENT_PREFIX)) deployments.web(request, response);
  else ownAnswer(request, response);
}

function ownAnswer(request: IncomingMessage, response: ServerResponse): void {
  const isHealthy = request.url === '/healthz';
  const body = isHealthy ? { ok: true } : { status: 404, code: 'not_found', instance: newRequestId() };
  const type = isHealthy ? 'application/json' : 'application/problem+json';
  response.writeHead(isHealthy ? 200 : 404, { 'content-type': type }).end(JSON.stringify(body));
}

function listening(server: Server, { host, port }: { readonly host: string; readonly port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}
