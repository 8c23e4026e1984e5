import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAgentPort, type KernelPlace } from '../../src/api/agent-port.js';
import type { ProblemError } from '../../src/api/problem.js';
import type { KernelId } from '../../src/contract/index.js';
import { eventually } from '../support/process.js';
import { testKeys } from './support.js';

let agent: Server;
let port: ReturnType<typeof createAgentPort>;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let place: KernelPlace;
beforeAll(async () => {
  agent = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
  await new Promise((resolve) => agent.once('listening', resolve));
  const { signer } = await testKeys();
  port = createAgentPort(signer);
  const agentUrl = `http://127.0.0.1:${(agent.address() as AddressInfo).port}`;
  place = { node: 'node-1', agentUrl, kernelId: 'krn_01m8p400000000000000000000' as KernelId, attempt: 2 };
});
afterAll(async () => {
  await port.close();
  agent.closeAllConnections();
  agent.close();
});

const never = new AbortController().signal;

test("logs are asked of the kernel's run, with a token of a minute for that node and run alone", async () => {
  let asked = '';
  let claims: Record<string, unknown> = {};
  answer = (request, response) => {
    asked = `${request.method} ${request.url}`;
    claims = decodeJwt((request.headers.authorization ?? '').replace('Bearer ', ''));
    response.end('{"stream":"stdout","data":"aGk="}\n');
  };
  const frames = await port.logs(place, new URLSearchParams({ tail: '5' }), never);
  expect((await frames.toArray()).join('')).toContain('aGk=');
  expect(asked).toBe(`GET /v1/kernels/${place.kernelId}/2/logs?tail=5`);
  expect(claims).toMatchObject({ aud: 'node/node-1', kernelId: place.kernelId, attempt: 2, operation: 'logs' });
  expect(Number(claims['exp']) - Number(claims['iat'])).toBe(60);
});

test("a frame passes on before the stream ends, and a client that goes cuts the agent's stream", async () => {
  let isCut = false;
  answer = (_request, response) => {
    response.writeHead(200).write('first\n');
    response.on('close', () => {
      isCut = true;
    });
  };
  const client = new AbortController();
  const frames = await port.exec(place, { command: ['id'] }, client.signal);
  frames.on('error', () => undefined);
  const first = await new Promise((resolve) => frames.once('data', (chunk: Buffer) => resolve(chunk.toString())));
  expect(first).toBe('first\n');
  client.abort();
  await eventually('the agent sees it', () => isCut);
});

const failures: [title: string, status: number, code: string][] = [
  ['nothing kept', 404, 'not_found'],
  ['not running', 409, 'conflict'],
  ['a refused token', 401, 'upstream_failed'],
  ['its own failure', 500, 'upstream_failed'],
];
test.each(failures)('an agent that answers: %s', async (_title, status, code) => {
  answer = (_request, response) => response.writeHead(status).end('{}');
  const error = await port.logs(place, new URLSearchParams(), never).catch((thrown: unknown) => thrown);
  expect((error as ProblemError).refusal.code).toBe(code);
});

test('an agent that is away is unavailable', async () => {
  const error = await port
    .logs({ ...place, agentUrl: 'http://127.0.0.1:1' }, new URLSearchParams(), never)
    .catch((thrown: unknown) => thrown);
  expect((error as ProblemError).refusal).toMatchObject({ code: 'unavailable' });
});
