import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createDeploymentGateway,
  type DeploymentGateway,
} from '../../../src/gateway/deployments/create-deployment-gateway.js';
import { MODEL_GATEWAY_DEFAULTS } from '../../../src/gateway/models/create-model-gateway.js';
import { createLogger } from '../../../src/platform/log.js';
import { createRegistry } from '../../../src/platform/metrics.js';
import { newDeploymentToken } from '../../../src/platform/tokens.js';
import { type Serving, servingIn, tellHealth, wish } from '../../store/deployments.js';
import { openLedger } from '../../store/ledger.js';
import { query } from '../../store/upkeep.js';
import { eventually } from '../../support/process.js';
import { listening } from '../models/support.js';
import { bearer, type Replica, startReplica } from './support.js';

/** Endpoints over a real ledger: what it says of a replica, a token and a count is what the gateway does. */
let chat: Serving;
let replica: Replica;
let gateway: DeploymentGateway;
let url: string;
const kicks: string[] = [];
const server = createServer((request, response) => gateway.web(request, response));

beforeAll(async () => {
  chat = await servingIn(await openLedger(), 'chat', wish({ replicas: 1 }));
  const { store } = chat;
  replica = await startReplica();
  await query(chat, `UPDATE nodes SET address = '127.0.0.1'`);
  const [kernelId] = chat.replicas.map((one) => one.kernelId);
  await query(chat, `UPDATE kernel_ports SET host_port = ${replica.port} WHERE kernel_id = '${String(kernelId)}'`);
  gateway = await createDeploymentGateway({
    ...{ models: store.models, deployments: store.deployments, events: store.events, registry: createRegistry('test') },
    kickPool: async () => undefined,
    kickDeployment: async (deploymentId) => void kicks.push(deploymentId),
    openApiKey: (sealed) => sealed.toString(),
    log: createLogger({ process: 'test', level: 'error' }),
    accessLog: { info: () => undefined },
    ...{ name: 'gateway-1', scheme: 'http', options: { ...MODEL_GATEWAY_DEFAULTS, drainMs: 100 } },
  });
  url = `http://127.0.0.1:${await listening(server)}/deployments/chat/`;
});
afterAll(async () => {
  await gateway.close();
  server.close();
  server.closeAllConnections();
  await replica.kill();
  await chat.store.close();
});

test('a replica is asked with a token as soon as it is made, its traffic is in the ledger, and a token taken back is refused within 2 s', async () => {
  const { secret, hash } = newDeploymentToken();
  await chat.deployments.createToken(chat.id, { id: 'dpt_1', name: 'app', hash, expiresAt: null }, 'admin');
  const status = async () => (await fetch(url, bearer(secret))).status;
  await eventually('it serves', async () => (await status()) === 200, 2);
  expect((await fetch(url)).status).toBe(401);
  const told = async () =>
    await query<{ sum: string | null }>(chat, 'SELECT sum(requests) AS sum FROM deployment_traffic');
  await eventually('traffic is told', async () => Number((await told())[0]?.sum) > 0, 4);
  await chat.deployments.revokeToken(chat.id, 'dpt_1', 'admin');
  await eventually('it is refused', async () => (await status()) === 401, 2);
});

test('a replica that its node tells to be unhealthy gets no request a second later, and the answer says why', async () => {
  const { secret, hash } = newDeploymentToken();
  await chat.deployments.createToken(chat.id, { id: 'dpt_2', name: 'app2', hash, expiresAt: null }, 'admin');
  const ask = () => fetch(url, bearer(secret));
  await eventually('it serves', async () => (await ask()).status === 200, 2);
  const [one] = chat.replicas;
  if (one === undefined) throw new Error('no replica');
  await tellHealth(chat, one, false);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const before = replica.seen.length;
  const answer = await ask();
  expect([answer.status, answer.headers.has('retry-after'), replica.seen.length]).toEqual([503, true, before]);
  expect(await answer.json()).toMatchObject({ code: 'unavailable', reason: { code: expect.any(String) as string } });
});
