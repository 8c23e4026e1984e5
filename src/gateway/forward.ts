import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createProxyServer } from 'httpxy';
import { OneConnection, type Upstream, type Upstreams } from './upstreams.js';

/** Requests and sockets go to the app as they came, but for what is Berth's; answers come back as they are. */
export interface Forward {
  /** `failed` is called when nothing was answered yet: with what went wrong on the way to the app. */
  web(exchange: Exchange, upstream: Upstream, failed: (error: Error) => void): void;
  /** Throws `DoorClosed` before anything was answered. */
  upgrade(upgrade: Upgrade, upstream: Upstream): Promise<void>;
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
}

interface ForwardOptions {
  /** As clients see it, `https` or `http`. */
  readonly scheme: string;
  /** Never set by an app. */
  readonly cookieName: string;
}

const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const TARGET = { protocol: 'http:', host: 'app', port: 80 } as const; // the connection says where, this does not

export function createForward(upstreams: Upstreams, { scheme, cookieName }: ForwardOptions): Forward {
  const proxy = createProxyServer({ cookieDomainRewrite: '' }); // without a listener for errors, each call has its own
  const isReused = new WeakSet<IncomingMessage>();
  proxy.on('proxyReq', (asked, request) => {
    if (asked.reusedSocket) isReused.add(request);
  });
  proxy.on('proxyRes', (answer, _request, response) => {
    keepOwnCookie(answer, cookieName);
    if (isEventStream(answer)) endWhole(answer, response);
  });

  const attempt = ({ request, response }: Exchange, upstream: Upstream, failed: (error: Error) => void): void => {
    const fail = (error: Error): void => {
      if (response.headersSent) return void response.destroy();
      const isStale = isReused.delete(request) && isReset(error) && REPEATABLE.has(request.method ?? '');
      if (isStale && !response.destroyed) return attempt({ request, response }, upstream, failed);
      failed(error);
    };
    proxy.web(request, response, { target: TARGET, agent: upstreams.agentOf(upstream) }).catch(fail);
  };

  return {
    web(exchange, upstream, failed) {
      tellWhence(exchange.request, scheme);
      attempt(exchange, upstream, failed);
    },
    async upgrade({ request, socket, head }, upstream) {
      const tunnel = await upstreams.connect(upstream);
      if (socket.destroyed) return void tunnel.destroy();
      tellWhence(request, scheme);
      const cut = () => void socket.destroy();
      tunnel.once('close', () => socket.destroySoon());
      socket.once('close', () => tunnel.destroy());
      proxy.ws(request, socket, { target: TARGET, agent: new OneConnection(tunnel) }, head).catch(cut);
    },
  };
}

/** What the app may need to make URLs of its own; what a client claims of itself is not passed on. */
function tellWhence({ headers, socket }: IncomingMessage, scheme: string): void {
  for (const name of Object.keys(headers))
    if (name.startsWith('x-forwarded-') || name === 'forwarded') delete headers[name];
  headers['x-forwarded-for'] = socket.remoteAddress ?? '';
  headers['x-forwarded-proto'] = scheme;
  headers['x-forwarded-host'] = headers.host ?? '';
}

/** An app neither sets nor clears the cookie that lets a visitor in. */
function keepOwnCookie({ headers }: IncomingMessage, cookieName: string): void {
  const cookies = headers['set-cookie'];
  if (cookies === undefined) return;
  const others = cookies.filter((cookie) => !cookie.trimStart().startsWith(`${cookieName}=`));
  if (others.length === 0) delete headers['set-cookie'];
  else headers['set-cookie'] = others;
}

const isEventStream = ({ headers }: IncomingMessage): boolean =>
  headers['content-type']?.startsWith('text/event-stream') === true;

/** Events stand each for itself: a stream whose app ended is ended, where any other body that broke off is cut. */
function endWhole(answer: IncomingMessage, response: ServerResponse): void {
  answer.once('error', () => response.end());
  answer.once('aborted', () => response.end());
}

const isReset = (error: Error): boolean => 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
