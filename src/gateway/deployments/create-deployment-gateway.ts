import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DeploymentStore } from '../../store/deployment-store.js';
import type { EventStore } from '../../store/store.js';
import type { Upgrade } from '../forward.js';
import { createModelGateway, type ModelGateway, type ModelGatewayDeps } from '../models/create-model-gateway.js';
import { askedInVain } from './asked.js';
import { DeploymentDesk } from './deployment-desk.js';
import { DeploymentEntry } from './deployment-entry.js';
import { deploymentMetrics } from './deployment-metrics.js';
import { type DeploymentTable, openDeploymentTable } from './deployment-table.js';
import { tokenKeyOf } from './token-key.js';
import { TrafficReports } from './traffic-reports.js';

export interface DeploymentGatewayDeps extends Omit<ModelGatewayDeps, 'deployments'> {
  readonly deployments: Pick<DeploymentStore, 'routes' | 'route' | 'recordTraffic'>;
  readonly kickDeployment: (deploymentId: string) => Promise<void>;
  /** Unique among gateway processes, and the same after a restart. */
  readonly name: string;
  /** As clients see it, `https` or `http`. */
  readonly scheme: string;
  /** A second unless told otherwise: the ledger reckons with it. */
  readonly trafficEveryMs?: number;
}

/** Endpoints of deployments, and the model gateway, in which those with a model's name are models among others. */
export interface DeploymentGateway {
  readonly models: ModelGateway;
  /** Answers a request for `/deployments/…` on a host that is no app's. */
  web(request: IncomingMessage, response: ServerResponse): void;
  upgrade(upgrade: Upgrade): void;
  /** New requests are refused; those under way end, or are cut after `drainMs`; traffic is told. */
  close(): Promise<void>;
}

const TRAFFIC_MS = 1_000;

/** Needs Postgres at its start alone: throws where that fails, leaves nothing, and may be tried again. */
export async function createDeploymentGateway(deps: DeploymentGatewayDeps): Promise<DeploymentGateway> {
  const { deployments, events, log, options, name: gateway, kickDeployment, accessLog, scheme } = deps;
  const tell = () => traffic.now();
  const tableDeps = { deployments, log, openApiKey: deps.openApiKey, everyMs: options.tableEveryMs };
  const table = await openDeploymentTable({ ...tableDeps, emptied: tell });
  const { listening, models } = await opened(deps, table, { events, tell });
  const entries = () => table.entries();
  const traffic = new TrafficReports({
    ...{ deployments, kickDeployment, entries, log, gateway },
    everyMs: deps.trafficEveryMs ?? TRAFFIC_MS,
  });
  const metrics = deploymentMetrics(deps.registry, () => inFlightOf(table));
  const { drainMs } = options;
  const desk = new DeploymentDesk({ table, keys: models.keys, metrics, tell, log, accessLog, scheme, drainMs });
  table.readAll(); // what changed between the first read and the listening
  return {
    models,
    web: (request, response) => desk.web(request, response),
    upgrade: (upgrade) => desk.upgrade(upgrade),
    async close() {
      await Promise.all([desk.close(), models.close()]);
      await Promise.all([traffic.close(), listening.close()]);
      table.close();
    },
  };
}

interface Opening {
  readonly events: Pick<EventStore, 'listen'>;
  readonly tell: () => void;
}

async function opened(deps: DeploymentGatewayDeps, table: DeploymentTable, { events, tell }: Opening) {
  const listening = await events
    .listen({
      session: () => undefined,
      deployment: (deploymentId) => table.changed(deploymentId),
      reconnect: () => table.readAll(),
    })
    .catch((error: unknown) => {
      table.close();
      throw error;
    });
  try {
    const models = await createModelGateway({
      ...deps,
      deployments: {
        get: (modelName) => table.byModel(modelName),
        entries: () => [...table.entries()].filter(({ deployment }) => deployment.modelName !== null),
        keyOf: (header) => tokenKeyOf(table, header),
        asked(entry) {
          if (!(entry instanceof DeploymentEntry)) return false;
          askedInVain(entry, tell);
          return true;
        },
      },
    });
    return { listening, models };
  } catch (error) {
    table.close();
    await listening.close();
    throw error;
  }
}

function inFlightOf(table: DeploymentTable): number {
  let sum = 0;
  for (const { inFlight } of table.entries()) for (const { count } of inFlight) sum += count;
  return sum;
}
