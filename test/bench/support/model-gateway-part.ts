import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { createDeploymentGateway } from '../../../src/gateway/deployments/create-deployment-gateway.js';
import { createModelGateway, MODEL_GATEWAY_DEFAULTS } from '../../../src/gateway/models/create-model-gateway.js';
import { allocateYoung } from '../../../src/platform/allocate-young.js';
import { createAccessLog, createLogger } from '../../../src/platform/log.js';
import { createRegistry } from '../../../src/platform/metrics.js';
import type { DeploymentRoute } from '../../../src/store/deployment-store.js';
import type { ModelRoute } from '../../../src/store/model-store.js';

/** One process of the benchmark: a simulated engine, a bare proxy before it, or a gateway. Tells its port. */
export interface ModelPartOptions {
  readonly role: 'engine' | 'bare' | 'gateway' | 'deployments';
  readonly enginePort: number;
  readonly routes: number;
}

export const CHUNKS = 50;
const options = JSON.parse(process.env['MODEL_GATEWAY_PART'] ?? '{}') as ModelPartOptions;
process.on('disconnect', () => process.exit(0));
if (options.role === 'gateway' || options.role === 'deployments') allocateYoung(); // as workers/gateway.ts does
async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 4_096, resolve));
  return (server.address() as AddressInfo).port;
}

const choices = [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(300) }, finish_reason: 'stop' }];
const usage = { prompt_tokens: 12, completion_tokens: 60, total_tokens: 72 };
const ANSWER = Buffer.from(
  JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices, usage }),
);
const CHUNK = `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: ' word' } }] })}\n\n`;

/** Answers at once; a stream's chunks at once, or, where it is `slow`, one in 100 ms without an end. */
const engine = (): Promise<number> =>
  listening(
    createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (part: string) => (body += part));
      request.on('end', () => {
        if (!body.includes('"stream":true')) {
          response.writeHead(200, { 'content-type': 'application/json', 'content-length': ANSWER.length }).end(ANSWER);
          return;
        }
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        if (body.includes('"user":"slow"')) slowly(response);
        else {
          for (let count = 0; count < CHUNKS; count += 1) response.write(CHUNK);
          response.end('data: [DONE]\n\n');
        }
      });
    }),
  );

function slowly(response: ServerResponse): void {
  const timer = setInterval(() => response.write(CHUNK), 100);
  response.once('close', () => clearInterval(timer));
}

/** What a few lines on undici do: the model's name is parsed and looked up, and nothing else. */
function bare(): Promise<number> {
  const pool = new Pool(`http://127.0.0.1:${options.enginePort}`, { headersTimeout: 0, bodyTimeout: 0 });
  return listening(
    createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const body = Buffer.concat(parts);
        const { model } = JSON.parse(body.toString()) as { readonly model: string };
        if (model === '') return void response.writeHead(404).end();
        const headers = { 'content-type': 'application/json' };
        pool
          .stream({ path: request.url ?? '/', method: 'POST', headers, body }, (answer) => {
            const { 'content-type': type = '', 'content-length': length } = answer.headers;
            const sized = length === undefined ? {} : { 'content-length': String(length) };
            return response.writeHead(answer.statusCode, { 'content-type': String(type), ...sized });
          })
          .catch(() => response.destroy());
      });
    }),
  );
}

const project = 'default/team';
const limits = { models: null, requestsPerMinute: null, tokensPerMinute: null };
const gatewayDeps = (routes: readonly ModelRoute[]) => ({
  models: {
    routes: async () => routes.map((route) => ({ ...route })),
    route: async () => null,
    gatewayKey: async () =>
      ({ keyId: 'key_1', project, projects: [project], isOperator: false, scope: 'models', limits }) as const,
    askWakes: async () => [],
    recordUsage: async () => undefined,
  },
  events: { listen: async () => ({ close: async () => undefined }) },
  kickPool: async () => undefined,
  openApiKey: (sealed: Buffer) => sealed.toString(),
  log: createLogger({ process: 'bench', level: 'warn' }),
  accessLog: createAccessLog({ process: 'bench', level: 'info' }),
  registry: createRegistry('bench'),
  options: MODEL_GATEWAY_DEFAULTS,
});

async function gateway(): Promise<number> {
  const sealedApiKey = Buffer.from('key');
  const routeOf = (at: number): ModelRoute => ({
    ...{ claimId: `clm_${at}`, modelName: `model-${at}`, pool: 'pool', project, projects: [project] },
    ...{ serving: 'Active', reason: null, phaseSinceMs: 0, startSeconds: null, wakeSeconds: null, hold: null },
    targets: [{ instanceId: `ins_${at}`, host: '127.0.0.1', port: options.enginePort, sealedApiKey }],
  });
  const routes = Array.from({ length: options.routes }, (_, at) => routeOf(at));
  const models = await createModelGateway(gatewayDeps(routes));
  return listening(createServer((request, response) => models.web(request, response)));
}

/** The same models, served by deployments: by name, and at their endpoints. */
async function deployments(): Promise<number> {
  const routeOf = (at: number): DeploymentRoute => ({
    ...{ deploymentId: `dep_${at}`, name: `deployment-${at}`, project, modelName: `model-${at}`, access: 'token' },
    ...{
      state: 'READY',
      message: '',
      startSeconds: null,
      sinceMs: 0,
      weights: [{ revision: 1, percent: 100 }],
      tokens: [],
    },
    targets: [
      {
        sessionId: `ses_${at}` as DeploymentRoute['targets'][number]['sessionId'],
        ...{ attempt: 1, revision: 1, isDegraded: false, host: '127.0.0.1', port: options.enginePort },
        sealedApiKey: Buffer.from('key'),
      },
    ],
  });
  const routes = Array.from({ length: options.routes }, (_, at) => routeOf(at));
  const served = await createDeploymentGateway({
    ...gatewayDeps([]),
    ...{ name: 'bench', scheme: 'http', kickDeployment: async () => undefined },
    deployments: {
      routes: async () => routes.map((route) => ({ ...route })),
      route: async () => null,
      recordTraffic: async () => [],
    },
  });
  return listening(
    createServer((request, response) =>
      request.url?.startsWith('/v1/') ? served.models.web(request, response) : served.web(request, response),
    ),
  );
}

const PARTS: Readonly<Record<ModelPartOptions['role'], () => Promise<number>>> = { engine, bare, gateway, deployments };
const port = await PARTS[options.role]();
process.send?.({ port });
