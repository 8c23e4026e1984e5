import { Agent, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JWK } from 'jose';
import { startAgentServer } from '../../../src/agent/agent-server.js';
import { createGateway } from '../../../src/gateway/create-gateway.js';
import { createLogger } from '../../../src/platform/log.js';
import { createRegistry } from '../../../src/platform/metrics.js';
import { createTokenSigner, createTokenVerifier } from '../../../src/platform/tokens.js';
import type { AppRoute } from '../../../src/store/app-store.js';

/** One process of the benchmark: the app, a bare proxy before it, an agent's port, or a gateway. Tells its port. */
export interface PartOptions {
  readonly role: 'app' | 'bare' | 'agent' | 'gateway';
  readonly appPort: number;
  readonly agentPort: number;
  readonly privateKey: JWK;
  readonly publicKey: JWK;
}

export const SESSION_ID = `ses_0${'0'.repeat(25)}` as AppRoute['sessionId'];
export const USER_ID = `usr_0${'0'.repeat(25)}` as AppRoute['userId'];
const KERNEL_ID = `krn_0${'0'.repeat(25)}` as NonNullable<AppRoute['place']>['kernelId'];
export const APPS_URL = 'http://apps.localhost:8084';
const BODY = Buffer.alloc(1_024, 'x');
const log = createLogger({ process: 'bench', level: 'warn' });

const options = JSON.parse(process.env['APP_PROXY_PART'] ?? '{}') as PartOptions;
process.on('disconnect', () => process.exit(0));
async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const app = (): Promise<number> =>
  listening(
    createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': BODY.length }).end(BODY);
    }),
  );

/** What ten lines of Node do: no rights, no routes, no strip of anything. */
function bare(): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  return listening(
    createServer(({ method, url, headers }, response) => {
      const target = { host: '127.0.0.1', port: options.appPort, method, path: url, headers, agent };
      request(target, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      }).end();
    }),
  );
}

async function agent(): Promise<number> {
  const verifier = createTokenVerifier({ keys: [options.publicKey] }, 'node/bench');
  const state = { status: 'running', addresses: { solo: '127.0.0.1' }, ports: [] };
  const { port } = await startAgentServer(
    {
      log,
      logs: {} as never,
      containers: { inspect: async () => state } as never,
      isAllowed: async (header) => (await verifier.verify(header?.replace('Bearer ', '') ?? '')).aud === 'node/bench',
    },
    { host: '127.0.0.1', port: 0 },
  );
  return port;
}

async function gateway(): Promise<number> {
  const route: AppRoute = {
    sessionId: SESSION_ID,
    name: 'bench',
    state: 'RUNNING',
    attempt: 1,
    userId: USER_ID,
    projectId: 'prj' as AppRoute['projectId'],
    ports: [{ name: 'http', containerPort: options.appPort }],
    shares: [],
    memberIds: [],
    place: { kernelId: KERNEL_ID, node: 'bench', agentUrl: `http://127.0.0.1:${options.agentPort}` },
  };
  const gateway = await createGateway({
    apps: { routes: async () => [route], route: async () => route, useTicket: async () => true } as never,
    events: { listen: async () => ({ close: async () => undefined }) },
    locate: async () => null,
    why: async () => null,
    recordActivity: async () => undefined,
    signer: await createTokenSigner(options.privateKey),
    verifyKeys: { keys: [options.publicKey] },
    log,
    registry: createRegistry('bench'),
    options: { name: 'bench', appsUrl: APPS_URL, tableEveryMs: 1_500, activityEveryMs: 10_000 },
  });
  return gateway.listen({ host: '127.0.0.1', port: 0 });
}

const PARTS: Readonly<Record<PartOptions['role'], () => Promise<number>>> = { app, bare, agent, gateway };
const port = await PARTS[options.role]();
process.send?.({ port });
