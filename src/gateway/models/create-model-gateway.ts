import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import type { Logger } from '../../platform/log.js';
import type { ModelStore } from '../../store/model-store.js';
import type { EventStore } from '../../store/store.js';
import { GatewayKeys, type KeyAnswer } from './gateway-keys.js';
import { ModelDesk } from './model-desk.js';
import type { ModelEntry } from './model-entry.js';
import { modelMetrics } from './model-metrics.js';
import { type ModelTable, openModelTable } from './model-table.js';
import { UsageBook } from './usage-book.js';
import { Wakes } from './wakes.js';

export interface ModelGatewayDeps {
  readonly models: Pick<ModelStore, 'routes' | 'route' | 'gatewayKey' | 'askWakes' | 'recordUsage'>;
  readonly events: Pick<EventStore, 'listen'>;
  readonly kickPool: (pool: string) => Promise<void>;
  /** Opens an engine's key, sealed to its instance. */
  readonly openApiKey: (sealed: Buffer, instanceId: string) => string;
  readonly log: Logger;
  /** One line a request: who, what, how long; never bodies or secrets. */
  readonly accessLog: Pick<Logger, 'info'>;
  readonly registry: Registry;
  /** Deployments that are served by a model's name, and their tokens. */
  readonly deployments?: ServedDeployments;
  readonly options: ModelGatewayOptions;
}

/** What the model gateway needs of deployments: to it they are models among others. */
export interface ServedDeployments {
  get(modelName: string): ModelEntry | undefined;
  entries(): Iterable<ModelEntry>;
  /** Null: it is no token of a deployment. */
  keyOf(header: string | undefined): KeyAnswer | null;
  /** A request for it that nothing serves; false: it is no deployment. */
  asked(entry: ModelEntry): boolean;
}

export interface ModelGatewayOptions {
  readonly tableEveryMs: number;
  readonly usageEveryMs: number;
  readonly bodyMaxBytes: number;
  readonly bodyMs: number;
  /** What is under way at the end has so long; then streams end with an error event. */
  readonly drainMs: number;
  /** Processes that share this port. */
  readonly workers: number;
}

export const MODEL_GATEWAY_DEFAULTS: ModelGatewayOptions = {
  tableEveryMs: 1_500,
  usageEveryMs: 3_000,
  bodyMaxBytes: 16 << 20,
  bodyMs: 60_000,
  drainMs: 5_000,
  workers: 1,
};

export interface ModelGateway {
  /** Berth's API keys, as this process knows them. */
  readonly keys: Pick<GatewayKeys, 'of'>;
  /** Answers a request for `/v1/…` on a host that is no app's. */
  web(request: IncomingMessage, response: ServerResponse): void;
  /** New requests are refused; those under way end, or are cut after `drainMs`; usage is told. */
  close(): Promise<void>;
}

/** OpenAI's protocol by model name. Needs Postgres at its start alone: throws where that fails, leaves nothing, and may be tried again. */
export async function createModelGateway(deps: ModelGatewayDeps): Promise<ModelGateway> {
  const { models, log, options } = deps;
  const { workers } = options;
  const table = await openModelTable({ ...deps, everyMs: options.tableEveryMs });
  const keys = new GatewayKeys({ models, log, workers });
  const listening = await listen(deps, table, keys);
  const metrics = modelMetrics(deps.registry, () => desk.inFlight);
  const wakes = new Wakes({ models, kickPool: deps.kickPool, log, asked: (count) => metrics.wakesAsked(count) });
  const usage = new UsageBook({ models, log, everyMs: options.usageEveryMs });
  const { accessLog, deployments } = deps;
  const desk = new ModelDesk({
    ...joined({ table, keys, wakes }, deployments),
    usage,
    metrics,
    log,
    accessLog,
    options,
  });
  table.onChange((entry) => desk.changed(entry));
  table.readAll(); // what changed between the first read and the listening
  return {
    keys,
    web: (request, response) => desk.web(request, response),
    async close() {
      await desk.close();
      wakes.close();
      table.close();
      await Promise.all([usage.close(), listening.close()]);
    },
  };
}

interface Parts {
  readonly table: Pick<ModelTable, 'get' | 'entries'>;
  readonly keys: Pick<GatewayKeys, 'of'>;
  readonly wakes: Pick<Wakes, 'ask'>;
}

/** A claim's name goes before a deployment's; the ledger lets no two have one. */
function joined({ table, keys, wakes }: Parts, deployments: ServedDeployments | undefined): Parts {
  if (deployments === undefined) return { table, keys, wakes };
  return {
    table: {
      get: (modelName) => table.get(modelName) ?? deployments.get(modelName),
      *entries() {
        yield* table.entries();
        yield* deployments.entries();
      },
    },
    keys: { of: (header) => deployments.keyOf(header) ?? keys.of(header) },
    wakes: { ask: (entry) => void (deployments.asked(entry) || wakes.ask(entry)) },
  };
}

async function listen({ events }: ModelGatewayDeps, table: ModelTable, keys: GatewayKeys) {
  try {
    return await events.listen({
      session: () => undefined,
      model: (claimId) => table.changed(claimId),
      key: () => keys.forget(),
      reconnect() {
        keys.forget();
        table.readAll();
      },
    });
  } catch (error) {
    table.close();
    throw error;
  }
}
