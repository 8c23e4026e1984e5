import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AppCookie } from '../contract/index.js';
import { type AppName, portNamed } from '../platform/app-origin.js';
import type { AppCookies } from './app-cookies.js';
import { hasPassed } from './may-enter.js';
import type { RouteTable } from './route-table.js';
import type { TakeTicket } from './tickets.js';

/** Berth's own paths on an app's origin; the app never sees requests for them. */
export const OWN_PATH = '/_berth/';

export interface Welcome {
  /** Where the visitor goes on, on the same origin. */
  readonly location: string;
  readonly setCookie: string;
}

export interface DoorDeps {
  readonly table: RouteTable;
  readonly cookies: AppCookies;
  readonly takeTicket: TakeTicket;
}

/** `/_berth/open?ticket=` and `/_berth/link?key=`: a right becomes the cookie of this app alone. Null lets nobody in. */
export async function knock(deps: DoorDeps, request: IncomingMessage, app: AppName): Promise<Welcome | null> {
  if (request.method !== 'GET') return null;
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://app');
  if (pathname === `${OWN_PATH}open`) return withTicket(deps, app, searchParams.get('ticket'));
  if (pathname === `${OWN_PATH}link`) return withLink(deps, app, searchParams.get('key'));
  return null;
}

async function withTicket(
  { table, cookies, takeTicket }: DoorDeps,
  app: AppName,
  token: string | null,
): Promise<Welcome | null> {
  const ticket = await takeTicket(token, (one) => one.use === 'open' && one.sessionId === app.sessionId);
  if (ticket?.use !== 'open') return null;
  const route = await table.find(app.sessionId); // only now: whoever has no ticket makes nobody ask Postgres
  const port = portNamed(route?.ports ?? [], app.port);
  if (port === undefined || port.name !== ticket.port) return null;
  const { sessionId, right, userId, path } = ticket;
  const claims: Omit<AppCookie, 'exp'> = { sessionId, port: port.name, right, userId, link: null };
  return { location: path, setCookie: await cookies.issue(claims) };
}

async function withLink({ table, cookies }: DoorDeps, app: AppName, key: string | null): Promise<Welcome | null> {
  const route = table.get(app.sessionId);
  const port = route && portNamed(route.ports, app.port);
  const share = port && route.shares.find((one) => one.port === port.name);
  if (key === null || share?.sharing !== 'link' || hasPassed(share.expiresAt, Date.now())) return null;
  const link = createHash('sha256').update(key).digest('base64url'); // 256 random bits: comparing hashes leaks nothing of them
  if (share.linkHash !== link) return null;
  const claims = { sessionId: app.sessionId, port: share.port, right: 'link', userId: null, link } as const;
  const leftSeconds = share.expiresAt === null ? undefined : (Date.parse(share.expiresAt) - Date.now()) / 1000;
  return { location: '/', setCookie: await cookies.issue(claims, leftSeconds) };
}
