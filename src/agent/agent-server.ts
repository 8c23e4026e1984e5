import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { execSchema, logsQuerySchema } from '../contract/index.js';
import type { Containers } from '../docker/containers.js';
import type { Logger } from '../platform/log.js';
import type { Operation, TokenCheck } from './agent-token.js';
import { createUpgrades } from './agent-upgrades.js';
import { sendFrames } from './frame-stream.js';
import { containerName, type KernelRun } from './kernel-container.js';
import { kernelLogs } from './kernel-logs.js';
import type { LogStore } from './log-store.js';

/** The agent's one port: logs of a kernel, commands in it and connections to it, each under a token for that run alone. */
export interface AgentServer {
  readonly port: number;
  /** Open streams are cut. */
  readonly close: () => Promise<void>;
}

export interface AgentServerDeps {
  readonly containers: Pick<Containers, 'logs' | 'inspect' | 'exec'>;
  readonly logs: LogStore;
  readonly isAllowed: TokenCheck;
  readonly log: Logger;
}

export interface ServerPlace {
  readonly host: string;
  readonly port: number;
}

const PATH = /^\/v1\/kernels\/(krn_[0-9a-z]{26})\/(\d{1,9})\/(logs|exec)$/;
const BODY_BYTES_MAX = 1024 * 1024;

export async function startAgentServer(deps: AgentServerDeps, place: ServerPlace): Promise<AgentServer> {
  const server = createServer((request, response) => {
    answer(deps, request, response).catch((error: unknown) => {
      deps.log.error({ err: error }, 'a request to the agent failed');
      if (response.headersSent) response.destroy();
      else problem(response, 500, 'internal');
    });
  });
  const upgrade = createUpgrades(deps);
  const cut = new Set<Duplex>();
  server.on('upgrade', (request, socket, head) => {
    cut.add(socket.once('close', () => cut.delete(socket)));
    upgrade({ request, socket, head }).catch((error: unknown) => {
      deps.log.error({ err: error }, 'a connection through the agent failed');
      socket.destroy();
    });
  });
  await listening(server, place);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        for (const socket of cut) socket.destroy();
      }),
  };
}

function listening(server: Server, { host, port }: ServerPlace): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function answer(deps: AgentServerDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://agent');
  if (url.pathname === '/healthz') return json(response, 200, { ok: true });
  const [, kernelId, attempt, name] = PATH.exec(url.pathname) ?? [];
  if (kernelId === undefined) return problem(response, 404, 'not_found');
  const run = { kernelId, attempt: Number(attempt) };
  const operation = name as Operation;
  if (request.method !== (operation === 'exec' ? 'POST' : 'GET')) return problem(response, 404, 'not_found');
  if (!(await deps.isAllowed(request.headers.authorization, { ...run, operation }))) {
    return problem(response, 401, 'unauthenticated');
  }
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const call = { request, response, url, run, signal: gone.signal };
  return operation === 'exec' ? exec(deps, call) : logs(deps, call);
}

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly run: KernelRun;
  /** Aborts when the client goes. */
  readonly signal: AbortSignal;
}

async function logs(deps: AgentServerDeps, { response, url, run, signal }: Call): Promise<void> {
  const query = logsQuerySchema.safeParse(Object.fromEntries(url.searchParams));
  if (!query.success) return problem(response, 400, 'invalid_request');
  const output = await kernelLogs(deps, run, { ...query.data, signal });
  if (output === undefined) return problem(response, 404, 'not_found');
  await sendFrames(response, output, signal);
}

async function exec(deps: AgentServerDeps, { request, response, run, signal }: Call): Promise<void> {
  const text = await bodyText(request);
  if (text === undefined) return problem(response, 413, 'too_large');
  const body = execSchema.safeParse(parsed(text));
  if (!body.success) return problem(response, 400, 'invalid_request');
  const name = containerName(run);
  const state = await deps.containers.inspect(name);
  if (state === undefined) return problem(response, 404, 'not_found');
  if (state.status !== 'running') return problem(response, 409, 'conflict');
  const { command, environment, workdir } = body.data;
  const options = { env: environment, signal, ...(workdir !== undefined && { workdir }) };
  await sendFrames(response, deps.containers.exec({ name, command, options }), signal);
}

/** Undefined when it is longer than is taken. */
async function bodyText(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function problem(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/problem+json' }).end(JSON.stringify({ status, code }));
}
