import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  createDeploymentGateway,
  type DeploymentGateway,
  type DeploymentGatewayDeps,
} from '../../../src/gateway/deployments/create-deployment-gateway.js';
import { MODEL_GATEWAY_DEFAULTS } from '../../../src/gateway/models/create-model-gateway.js';
import { createLogger } from '../../../src/platform/log.js';
import { createRegistry } from '../../../src/platform/metrics.js';
import { newDeploymentToken } from '../../../src/platform/tokens.js';
import type { DeploymentRoute, DeploymentTraffic } from '../../../src/store/deployment-store.js';
import { listening, SimulatedLedger } from '../models/support.js';

/** A simulated replica: a real HTTP server of this process, answered by the test. */
export interface Replica {
  readonly port: number;
  readonly seen: { readonly url: string; readonly headers: IncomingMessage['headers'] }[];
  /** As a killed one: its connections break, and it takes no more. */
  kill(): Promise<void>;
}

export type ReplicaAnswer = (request: IncomingMessage, response: ServerResponse) => void;
export type ReplicaUpgrade = (request: IncomingMessage, socket: Socket, head: Buffer) => void;
const hello: ReplicaAnswer = (request, response) => void (request.resume(), response.end('hello'));

export async function startReplica(
  answer: ReplicaAnswer = hello,
  upgrade?: ReplicaUpgrade,
  port = 0,
): Promise<Replica> {
  const seen: { url: string; headers: IncomingMessage['headers'] }[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    seen.push({ url: request.url ?? '', headers: request.headers });
    answer(request, response);
  });
  if (upgrade !== undefined) server.on('upgrade', upgrade);
  server.on('connection', (socket) => sockets.add(socket.once('close', () => sockets.delete(socket))));
  return {
    port: await listening(server, port),
    seen,
    kill: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

type Target = DeploymentRoute['targets'][number];
export const targetOn = (port: number, more: Partial<Target> = {}): Target => ({
  sessionId: `ses_${port}` as Target['sessionId'],
  ...{ attempt: 1, revision: 1, isDegraded: false, host: '127.0.0.1', port, sealedApiKey: null },
  ...more,
});

export const deploymentOf = (name: string, more: Partial<DeploymentRoute> = {}): DeploymentRoute => ({
  ...{ deploymentId: `dep_${name}`, name, project: 'default/team', modelName: null, access: 'public', state: 'READY' },
  ...{ message: '', startSeconds: null, sinceMs: 0, weights: [], tokens: [], targets: [] },
  ...more,
});

export const deploymentOn = (name: string, ...ports: readonly number[]): DeploymentRoute =>
  deploymentOf(name, { targets: ports.map((port) => targetOn(port)) });

export function tokenOf(more: Partial<DeploymentRoute['tokens'][number]> = {}) {
  const { secret, hash } = newDeploymentToken();
  return { secret, token: { id: `dpt_${secret.slice(4, 10)}`, hash, expiresMs: null, ...more } };
}

/** Deployments in the ledger's place, simulated in memory; models and keys beside. */
export class SimulatedDeployments {
  readonly ledger = new SimulatedLedger();
  readonly routes = new Map<string, DeploymentRoute>();
  readonly told: (readonly DeploymentTraffic[])[] = [];
  readonly kicks: string[] = [];
  isAway = false;
  toKick: readonly string[] = [];
  #on: Parameters<DeploymentGatewayDeps['events']['listen']>[0] | null = null;

  /** Changes a route, and tells of it, unless the notification is to be lost. */
  put(route: DeploymentRoute, tell = true): void {
    this.routes.set(route.deploymentId, route);
    if (tell) this.#on?.deployment?.(route.deploymentId);
  }

  remove(name: string): void {
    this.routes.delete(`dep_${name}`);
    this.#on?.deployment?.(`dep_${name}`);
  }

  get sum() {
    const all = this.told.flat();
    const of = (figure: 'requests' | 'failures' | 'queued') => all.reduce((sum, traffic) => sum + traffic[figure], 0);
    return { requests: of('requests'), failures: of('failures'), queued: of('queued') };
  }

  readonly deployments: DeploymentGatewayDeps['deployments'] = {
    routes: async () => this.#answer([...this.routes.values()]),
    route: async (deploymentId) => this.#answer(this.routes.get(deploymentId) ?? null),
    recordTraffic: async (_gateway, traffic) => {
      await this.#answer(null);
      this.told.push(traffic);
      return this.toKick;
    },
  };

  readonly events: DeploymentGatewayDeps['events'] = {
    listen: async (on) => {
      if (on.deployment === undefined) return this.ledger.events.listen(on);
      this.#on = on;
      return { close: async () => undefined };
    },
  };

  async #answer<T>(value: T): Promise<T> {
    if (this.isAway) throw new Error('the database is away');
    return value;
  }
}

export interface TestEndpoints {
  readonly url: string;
  readonly port: number;
  readonly gateway: DeploymentGateway;
  readonly lines: Record<string, unknown>[];
  readonly metrics: () => Promise<string>;
  close(): Promise<void>;
}

export async function startEndpoints(world: SimulatedDeployments, drainMs = 200): Promise<TestEndpoints> {
  const lines: Record<string, unknown>[] = [];
  const registry = createRegistry('test');
  const gateway = await createDeploymentGateway({
    ...{ models: world.ledger.models, deployments: world.deployments, events: world.events, registry },
    kickPool: async () => undefined,
    kickDeployment: async (deploymentId) => void world.kicks.push(deploymentId),
    openApiKey: (sealed, sessionId) => `${sealed.toString()} of ${sessionId}`,
    log: createLogger({ process: 'test', level: 'fatal' }),
    accessLog: { info: (line: Record<string, unknown>) => void lines.push(line) } as never,
    ...{ name: 'gateway-1', scheme: 'http', trafficEveryMs: 50 },
    options: { ...MODEL_GATEWAY_DEFAULTS, drainMs },
  });
  const server = createServer((request, response) =>
    request.url?.startsWith('/v1/') ? gateway.models.web(request, response) : gateway.web(request, response),
  );
  server.on('upgrade', (request, socket: Socket, head) => gateway.upgrade({ request, socket, head }));
  const port = await listening(server);
  return {
    ...{ url: `http://127.0.0.1:${port}`, port, gateway, lines, metrics: () => registry.metrics() },
    async close() {
      await gateway.close();
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };
}

export const bearer = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } });
