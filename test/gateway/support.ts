import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ClientOptions, type WebSocket as Socket, WebSocket, WebSocketServer } from 'ws';
import type { AgentServer } from '../../src/agent/agent-server.js';
import { startAgentServer } from '../../src/agent/agent-server.js';
import type { AppActivity, Session } from '../../src/contract/index.js';
import { createGateway, type Gateway } from '../../src/gateway/create-gateway.js';
import { createRegistry } from '../../src/platform/metrics.js';
import { createTokenVerifier } from '../../src/platform/tokens.js';
import { runningSession } from '../api/placed.js';
import { log, startTestApi, type TestApi } from '../api/support.js';

/** An app in this process: what it saw, and what it answers. */
export interface TestApp {
  readonly port: number;
  readonly seen: IncomingMessage[];
  /** Requests whose client went before their end. */
  readonly aborted: string[];
  close(): Promise<void>;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export async function startApp(
  handle: Handler,
  onSocket: (socket: Socket, request: IncomingMessage) => void = () => undefined,
): Promise<TestApp> {
  const seen: IncomingMessage[] = [];
  const aborted: string[] = [];
  const server = createServer((asked, answer) => {
    seen.push(asked);
    answer.on('close', () => {
      if (!answer.writableFinished) aborted.push(asked.url ?? '');
    });
    handle(asked, answer);
  });
  const handleProtocols = (protocols: Set<string>) => [...protocols].at(-1) ?? false;
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: { threshold: 0 }, handleProtocols });
  server.on('upgrade', (asked, socket, head) => {
    seen.push(asked);
    if (asked.url === '/refused') return void socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno');
    sockets.handleUpgrade(asked, socket, head, (opened) => onSocket(opened, asked));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    aborted,
    close: () =>
      new Promise((resolve) => {
        for (const client of sockets.clients) client.terminate();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** API, gateway and an agent's port on real Postgres; the container of each session is `app` of this process. */
export interface TestGateway {
  readonly api: TestApi;
  readonly gateway: Gateway;
  readonly port: number;
  readonly activity: AppActivity[];
  /** Signs as the API does; forged ones come from other keys. */
  readonly signer: TestApi['keys']['signer'];
  runSession(key: string, name: string, app: { readonly port: number }): Promise<Session>;
  /** The cookie of who opened it, as a Cookie header. */
  enter(key: string, session: string, port?: string): Promise<string>;
  ask(session: Session, path: string, options?: AskOptions): Promise<Answer>;
  socket(
    session: Session,
    path: string,
    options?: ClientOptions & { readonly protocols?: readonly string[] },
  ): WebSocket;
  close(): Promise<void>;
}

export interface AskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  readonly port?: string;
}
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

export const hostOf = ({ id }: Pick<Session, 'id'>, port = 'http'): string =>
  `${port}--${id.slice(4)}.apps.localhost:8084`;

export async function startTestGateway(): Promise<TestGateway> {
  const api = await startTestApi();
  const { signer, verifyKeys } = api.keys;
  const verifier = createTokenVerifier(verifyKeys, 'node/node-1');
  const places = new Map<string, number>();
  const agent: AgentServer = await startAgentServer(
    {
      log,
      logs: {} as never,
      containers: {
        inspect: async (name: string) => {
          const port = places.get(name.split('-')[1] ?? '');
          if (port === undefined) return undefined;
          return { status: 'running', addresses: { solo: '127.0.0.1' }, ports: [] } as never;
        },
      } as never,
      isAllowed: async (header, asked) => {
        const claims = await verifier.verify(header?.replace('Bearer ', '') ?? '').catch(() => null);
        return claims?.['kernelId'] === asked.kernelId && claims['containerPort'] === asked.containerPort;
      },
    },
    { host: '127.0.0.1', port: 0 },
  );
  await api.store.nodes.register('node-1', {
    architecture: 'amd64',
    capacity: { cpuMilli: 64_000, memoryBytes: 2 ** 40 },
    devices: [],
    agentUrl: `http://127.0.0.1:${agent.port}`,
    address: '127.0.0.1',
    engineId: 'engine',
    agentVersion: 'test',
    images: [],
  });
  await api.store.nodes.reconcile('node-1', { kernels: [], starting: true });
  const activity: AppActivity[] = [];
  const gateway = await createGateway({
    apps: api.store.apps,
    events: api.store.events,
    locate: (...asked) => api.store.sessions.locateKernel(...asked),
    why: (sessionId) => api.store.planning.why(sessionId),
    recordActivity: async ({ sessions }) => void activity.push(...sessions),
    signer,
    verifyKeys,
    log,
    registry: createRegistry('gateway'),
    options: { name: 'test', appsUrl: 'http://apps.localhost:8084', tableEveryMs: 200, activityEveryMs: 60_000 },
  });
  const port = await gateway.listen({ host: '127.0.0.1', port: 0 });

  return {
    api,
    gateway,
    port,
    activity,
    signer,
    async runSession(key, name, app) {
      const started = await runningSession(api, key, {
        name,
        ports: [{ name: 'http', containerPort: app.port }],
      });
      for (const { id } of started.kernels) places.set(id, app.port);
      return started;
    },
    async enter(key, session, named = 'http') {
      const opened = await api.call(key, 'POST', `/v1/sessions/${session}/apps/${named}/open`, {});
      const { url } = opened.json<{ url: string }>();
      const { pathname, search, host } = new URL(url);
      const welcome = await askPort(port, { host, path: `${pathname}${search}` });
      return String(welcome.headers['set-cookie']?.[0]).split(';', 1)[0] ?? '';
    },
    ask: (session, path, { port: named, ...options } = {}) =>
      askPort(port, { host: hostOf(session, named), path, ...options }),
    socket: (session, path, { protocols = [], headers, ...options } = {}) =>
      new WebSocket(`ws://127.0.0.1:${port}${path}`, [...protocols], {
        headers: { host: hostOf(session), ...headers },
        ...options,
      }),
    async close() {
      await gateway.close();
      await agent.close();
      await api.close();
    },
  };
}

interface Asked extends AskOptions {
  readonly host: string;
  readonly path: string;
}

/** With a Host header of our choice, which `fetch` does not take. */
export function askPort(
  port: number,
  { host, path, method = 'GET', headers = {}, body, signal }: Asked,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, method, headers: { host, ...headers }, agent: false as const };
    const asked = request({ ...options, ...(signal && { signal }) }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => (text += chunk));
      answer.on('error', reject);
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
