import type { IncomingMessage } from 'node:http';
import type { AppCookie, Why } from '../contract/index.js';
import { type AppName, portNamed } from '../platform/app-origin.js';
import type { AppRoute } from '../store/app-store.js';
import type { KernelPlace } from './agent-door.js';
import type { AppCookies } from './app-cookies.js';
import { mayEnter } from './may-enter.js';
import { HIDDEN, type Page } from './pages.js';
import { isOpen, type RouteTable } from './route-table.js';

/** Let in, to a port that a node has; or the page that is answered instead. */
export type Entrance =
  | { readonly page: Page }
  | {
      readonly page: null;
      readonly route: AppRoute;
      readonly place: KernelPlace;
      readonly port: { readonly name: string; readonly containerPort: number };
      readonly cookie: AppCookie | null;
    };

export interface EntranceDeps {
  readonly table: RouteTable;
  readonly cookies: AppCookies;
  readonly why: (sessionId: AppRoute['sessionId']) => Promise<Why | null>;
}

const AGAIN_SECONDS = 2;
const SERVES: ReadonlySet<string> = new Set(['RUNNING', 'PREEMPTING', 'TERMINATING']);

export async function enter(
  { table, cookies, why }: EntranceDeps,
  request: IncomingMessage,
  app: AppName,
): Promise<Entrance> {
  const cookie = isOwnRequest(request) ? await cookies.read(request.headers.cookie) : null;
  // Without a right of its own to show, nobody makes the gateway ask Postgres.
  const isHolder = cookie?.sessionId === app.sessionId;
  const route = isHolder ? await table.find(app.sessionId) : table.get(app.sessionId);
  const port = portNamed(route?.ports ?? [], app.port);
  if (!route || port === undefined) return { page: HIDDEN };
  if (!mayEnter(route, port.name, { cookie, nowMs: Date.now() })) return { page: HIDDEN };
  if (!isOpen(route)) return { page: ended(route) };
  if (route.place === null || !SERVES.has(route.state)) return { page: waiting(route, await why(route.sessionId)) };
  return { page: null, route, place: { ...route.place, attempt: route.attempt }, port, cookie };
}

/**
 * Apps of one installation are of the same site to a browser, so it sends a Lax cookie with what another app asks for here.
 * Such a request has the cookie's rights only where a person goes there. Browsers say which it is; programs say nothing.
 */
function isOwnRequest({ headers, method = 'GET' }: IncomingMessage): boolean {
  const from = headers['sec-fetch-site'];
  if (from === undefined || from === 'same-origin' || from === 'none') return true;
  const isVisit = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return isVisit && (method === 'GET' || method === 'HEAD');
}

const ended = ({ name, state }: AppRoute): Page => ({
  code: 'gone',
  title: `${name} has ended`,
  detail: `The session is ${state}; its ports are closed for good.`,
  hint: `berth inspect ${name}`,
});

function waiting({ name, state }: AppRoute, why: Why | null): Page {
  const reason = why?.reason ? `${why.reason}: ${why.message}` : (why?.message ?? '');
  return {
    code: 'unavailable',
    title: `${name} is not ready yet`,
    detail: `The session is ${state}. ${reason}`.trim(),
    hint: `berth why ${name}`,
    againSeconds: AGAIN_SECONDS,
  };
}

/** It runs, and the port does not answer: most apps need a while, and some listen on 127.0.0.1 only. */
export const notListening = ({ name, state }: AppRoute, containerPort: number): Page => ({
  code: 'unavailable',
  title: `${name} is not ready yet`,
  detail: `The session is ${state}, but nothing listens on port ${containerPort} of its container (on 0.0.0.0) yet.`,
  hint: `berth logs -f ${name}`,
  againSeconds: AGAIN_SECONDS,
});

export const nodeAway = ({ name }: AppRoute, node: string): Page => ({
  code: 'unavailable',
  title: `${name} cannot be reached now`,
  detail: `The agent of node ${node} does not answer.`,
  hint: `berth get node ${node}`,
  againSeconds: AGAIN_SECONDS,
});
