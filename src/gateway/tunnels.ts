import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { AppTicket, KernelId } from '../contract/index.js';
import { joinSockets, TUNNEL_PROTOCOL } from '../platform/join-sockets.js';
import type { SessionStore } from '../store/session-store.js';
import type { Activity } from './activity.js';
import type { AgentDoor, KernelPlace } from './agent-door.js';
import { DoorClosed } from './agent-door.js';
import type { Upgrade } from './forward.js';
import type { TakeTicket } from './tickets.js';

export interface TunnelDeps {
  readonly door: AgentDoor;
  readonly takeTicket: TakeTicket;
  readonly locate: SessionStore['locateKernel'];
  readonly activity: Pick<Activity, 'watch'>;
}

const HANDSHAKE = /^sec-websocket-/;

/**
 * `/_berth/tunnel?ticket=`: one connection to a port of a kernel, or one terminal in it, under a one-use ticket. The bytes
 * are the agent's and the client's business. Answers null when it was opened, else the status to refuse with.
 */
export async function openTunnel(deps: TunnelDeps, { request, socket, head }: Upgrade): Promise<number | null> {
  const protocol = request.headers.upgrade?.toLowerCase();
  const ticket = await deps.takeTicket(ticketOf(request), ({ use }) => PROTOCOLS[use] === protocol);
  if (ticket === null || ticket.use === 'open') return 401;
  const located = await deps.locate(ticket.sessionId, ticket.kernelId);
  if (located === null) return 410;
  try {
    const { tunnel, answer } = await open(deps.door, ticket, { place: located, headers: request.headers });
    if (socket.destroyed) {
      tunnel.destroy();
      return null;
    }
    socket.setNoDelay(true).write(`HTTP/1.1 101 Switching Protocols\r\n${headerLines(answer)}\r\n`);
    if (head.length > 0) tunnel.write(head);
    joinSockets(socket, tunnel);
    deps.activity.watch(ticket.sessionId, socket);
    return null;
  } catch (error) {
    if (!(error instanceof DoorClosed)) throw error;
    return error.why === 'gone' ? 410 : error.why === 'closed' ? 502 : 503;
  }
}

const PROTOCOLS: Readonly<Record<AppTicket['use'], string>> = {
  open: '',
  port: TUNNEL_PROTOCOL,
  terminal: 'websocket',
};

const ticketOf = ({ url = '/' }: IncomingMessage): string | null =>
  new URL(url, 'http://gateway').searchParams.get('ticket');

interface Where {
  readonly place: KernelPlace & { readonly kernelId: KernelId };
  readonly headers: IncomingHttpHeaders;
}

async function open(
  door: AgentDoor,
  ticket: Exclude<AppTicket, { use: 'open' }>,
  { place, headers }: Where,
): Promise<{ readonly tunnel: Socket; readonly answer: IncomingHttpHeaders }> {
  if (ticket.use === 'port') {
    const answer = { connection: 'Upgrade', upgrade: TUNNEL_PROTOCOL };
    return { tunnel: await door.toPort(place, ticket.containerPort), answer };
  }
  const handshake = Object.entries(headers).filter(([name]) => HANDSHAKE.test(name));
  const opened = await door.toTerminal(place, Object.fromEntries(handshake) as Record<string, string>);
  return { tunnel: opened.socket, answer: opened.headers };
}

const headerLines = (headers: IncomingHttpHeaders): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${String(value)}\r\n`)
    .join('');
