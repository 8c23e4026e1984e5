import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import {
  createModelGateway,
  MODEL_GATEWAY_DEFAULTS,
  type ModelGateway,
  type ModelGatewayDeps,
  type ModelGatewayOptions,
} from '../../../src/gateway/models/create-model-gateway.js';
import { createLogger } from '../../../src/platform/log.js';
import { createRegistry } from '../../../src/platform/metrics.js';
import { hashSecret } from '../../../src/platform/tokens.js';
import type { GatewayKey, ModelRoute } from '../../../src/store/model-store.js';

/** A simulated engine: OpenAI's protocol on a real port of this process, answered by the test. */
export interface SimulatedEngine {
  readonly port: number;
  readonly requests: { readonly headers: IncomingMessage['headers']; readonly path: string; readonly body: string }[];
  /** Those whose connection was closed before their answer was whole. */
  cut: number;
  close(): Promise<void>;
}

export type EngineAnswer = (response: ServerResponse, body: string) => void | Promise<void>;

export const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
export const answerJson: EngineAnswer = (response, body) => {
  const { model = 'm' } = JSON.parse(body) as { model?: string };
  const choices = [{ index: 0, message: { role: 'assistant', content: 'four' }, finish_reason: 'stop' }];
  const text = JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model, choices, usage: USAGE });
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
};

export const chunk = (content: string, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content } }], ...more })}\n\n`;
export const usageChunk = `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: USAGE })}\n\n`;

/** As vLLM does: tokens one by one, the usage where it was asked for, and `[DONE]`. */
export const answerStream =
  (words: readonly string[], everyMs = 1): EngineAnswer =>
  async (response, body) => {
    const { stream_options: options } = JSON.parse(body) as { stream_options?: { include_usage?: boolean } };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const word of words) {
      response.write(chunk(word));
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
    if (options?.include_usage === true) response.write(usageChunk);
    response.end('data: [DONE]\n\n');
  };

export async function startEngine(answer: EngineAnswer, port = 0): Promise<SimulatedEngine> {
  const requests: SimulatedEngine['requests'] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => (body += part));
    request.on('end', () => {
      requests.push({ headers: request.headers, path: request.url ?? '', body });
      void answer(response, body);
    });
    response.on('close', () => void (response.writableFinished || (engine.cut += 1)));
  });
  server.on('connection', (socket) => sockets.add(socket.once('close', () => sockets.delete(socket))));
  const engine: SimulatedEngine = {
    port: await listening(server, port),
    requests,
    cut: 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return engine;
}

export async function listening(server: Server, port = 0): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

export const routeOf = (modelName: string, more: Partial<ModelRoute> = {}): ModelRoute => ({
  claimId: `clm_${modelName}`,
  modelName,
  pool: 'pool-a',
  project: 'default/team',
  projects: ['default/team'],
  serving: 'EngineSleeping',
  reason: null,
  phaseSinceMs: 0,
  startSeconds: null,
  wakeSeconds: null,
  hold: null,
  targets: [],
  ...more,
});

export const activeOn = (modelName: string, ...ports: readonly number[]): ModelRoute =>
  routeOf(modelName, {
    serving: 'Active',
    targets: ports.map((port) => {
      const instanceId = `ins_${modelName}_${port}`;
      return { instanceId, host: '127.0.0.1', port, sealedApiKey: Buffer.from(`engine-key-${port}`) };
    }),
  });

/** The ledger's part, simulated in memory: what Postgres answers, and what it was told. */
export class SimulatedLedger {
  readonly routes = new Map<string, ModelRoute>();
  readonly keys = new Map<string, GatewayKey>();
  readonly wakes: (readonly { readonly claimId: string; readonly lastRequestMs: number }[])[] = [];
  readonly kicks: string[] = [];
  readonly usage = new Map<
    string,
    {
      readonly requests: number;
      readonly promptTokens: number;
      readonly completionTokens: number;
      readonly failed: number;
    }
  >();
  readonly batches = new Set<string>();
  lookups = 0;
  /** Of routes, whole or single. */
  reads = 0;
  isAway = false;
  isMute = false;
  #on: Parameters<ModelGatewayDeps['events']['listen']>[0] | null = null;

  /** Changes a route, and tells of it, unless the notification is to be lost. */
  put(route: ModelRoute, tell = true): void {
    this.routes.set(route.claimId, route);
    if (tell) this.#on?.model?.(route.claimId);
  }

  remove(modelName: string): void {
    this.routes.delete(`clm_${modelName}`);
    this.#on?.model?.(`clm_${modelName}`);
  }

  addKey(more: Partial<GatewayKey> = {}): string {
    const secret = `berth_${randomBytes(12).toString('hex')}`;
    const limits = { models: null, requestsPerMinute: null, tokensPerMinute: null };
    const key = {
      keyId: `key_${this.keys.size}`,
      project: 'default/team',
      projects: ['default/team'],
      isOperator: false,
      scope: 'write' as const,
    };
    this.keys.set(hashSecret(secret).toString('hex'), { ...key, limits, ...more });
    return secret;
  }

  changeKey(secret: string, key: GatewayKey | null): void {
    const hash = hashSecret(secret).toString('hex');
    if (key === null) this.keys.delete(hash);
    else this.keys.set(hash, key);
    this.#on?.key?.(null);
  }

  reconnected(): void {
    this.#on?.reconnect();
  }

  readonly models: ModelGatewayDeps['models'] = {
    routes: async () => {
      this.reads += 1;
      return this.#answer([...this.routes.values()]);
    },
    route: async (claimId) => {
      this.reads += 1;
      return this.#answer(this.routes.get(claimId) ?? null);
    },
    gatewayKey: async (hash) => {
      this.lookups += 1;
      return this.#answer(this.keys.get(hash.toString('hex')) ?? null);
    },
    askWakes: async (claims) => {
      await this.#answer(null);
      this.wakes.push(claims);
      return ['pool-a'];
    },
    recordUsage: async (rows, batchId) => {
      await this.#answer(null);
      if (this.batches.has(batchId)) return;
      this.batches.add(batchId);
      for (const { keyId, project, model, requests, promptTokens, completionTokens, failed } of rows) {
        const name = `${keyId} ${project} ${model}`;
        const before = this.usage.get(name) ?? { requests: 0, promptTokens: 0, completionTokens: 0, failed: 0 };
        this.usage.set(name, {
          requests: before.requests + requests,
          promptTokens: before.promptTokens + promptTokens,
          completionTokens: before.completionTokens + completionTokens,
          failed: before.failed + failed,
        });
      }
    },
  };

  readonly events: ModelGatewayDeps['events'] = {
    listen: async (on) => {
      this.#on = on;
      return { close: async () => undefined };
    },
  };

  async #answer<T>(value: T): Promise<T> {
    if (this.isMute) return new Promise<T>(() => undefined);
    if (this.isAway) throw new Error('the database is away');
    return value;
  }
}

export interface TestModels {
  readonly url: string;
  readonly ledger: SimulatedLedger;
  readonly lines: Record<string, unknown>[];
  readonly gateway: ModelGateway;
  readonly metrics: () => Promise<string>;
  /** Asks as `key`; the answer's body as text. */
  ask(key: string, body: unknown, more?: RequestInit & { readonly path?: string }): Promise<AskedAnswer>;
  close(): Promise<void>;
}

export interface AskedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly reason?: { readonly code: string };
  };
}

export async function startModels(
  ledger: SimulatedLedger,
  options: Partial<ModelGatewayOptions> = {},
  registry = createRegistry('test'),
): Promise<TestModels> {
  const lines: Record<string, unknown>[] = [];
  const gateway = await createModelGateway({
    models: ledger.models,
    events: ledger.events,
    kickPool: async (pool) => void ledger.kicks.push(pool),
    openApiKey: (sealed) => sealed.toString(),
    log: createLogger({ process: 'test', level: 'fatal' }),
    accessLog: { info: (line: Record<string, unknown>) => void lines.push(line) } as never,
    registry,
    options: { ...MODEL_GATEWAY_DEFAULTS, drainMs: 200, ...options },
  });
  const server = createServer((request, response) => gateway.web(request, response));
  const url = `http://127.0.0.1:${await listening(server)}`;
  return {
    url,
    ledger,
    lines,
    gateway,
    metrics: () => registry.metrics(),
    async ask(key, body, { path = '/v1/chat/completions', ...more } = {}) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more.headers };
      const sent = body === undefined ? {} : { body: text };
      const answer = await fetch(url + path, {
        method: body === undefined ? 'GET' : 'POST',
        ...sent,
        ...more,
        headers,
      });
      const got = await answer.text();
      const isError = got.startsWith('{"error"');
      const error = (isError ? (JSON.parse(got) as { error: AskedAnswer['error'] }).error : {}) as AskedAnswer['error'];
      return { status: answer.status, headers: answer.headers, text: got, error };
    },
    async close() {
      await gateway.close();
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };
}

export const hello = (model: string, more: object = {}) => ({
  model,
  messages: [{ role: 'user', content: 'hi' }],
  ...more,
});

export async function until(isSo: () => boolean, milliseconds = 3_000): Promise<number> {
  const startedMs = performance.now();
  while (!isSo()) {
    if (performance.now() - startedMs > milliseconds) throw new Error('it did not come to that');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return performance.now() - startedMs;
}
