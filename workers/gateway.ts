import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { AggregatorRegistry, type Registry } from 'prom-client';
import { createGateway, GATEWAY_DEFAULTS } from '../src/gateway/create-gateway.js';
import {
  createDeploymentGateway,
  type DeploymentGateway,
} from '../src/gateway/deployments/create-deployment-gateway.js';
import { MODEL_GATEWAY_DEFAULTS } from '../src/gateway/models/create-model-gateway.js';
import { allocateYoung } from '../src/platform/allocate-young.js';
import { parseGatewayConfig } from '../src/platform/config.js';
import { createAccessLog, createLogger } from '../src/platform/log.js';
import { createRegistry, startMetricsServer } from '../src/platform/metrics.js';
import { onEnd } from '../src/platform/process-end.js';
import { readSeal } from '../src/platform/seal.js';
import { readTokenSigner, readVerifyKeys } from '../src/platform/tokens.js';
import { createStore } from '../src/store/create-store.js';
import type { Store } from '../src/store/store.js';
import { createTemporalDoor } from '../src/temporal/create-temporal-door.js';
import { isFirstOfMany, runGatewayWorkers, workerPlace } from './gateway-workers.js';

/**
 * The gateway: models by name, and the proxy before the ports of sessions. Stateless; it waits for Postgres at its start,
 * and outlives its absence. With `BERTH_GATEWAY_WORKERS` above 1 this process only keeps so many others.
 */
const AGAIN_MS = 1_000;

allocateYoung();
const config = parseGatewayConfig(process.env);
const log = createLogger({ process: 'gateway', level: config.logLevel });
const ending = new AbortController();
const open: (() => Promise<unknown> | void)[] = [];

onEnd(async (reason) => {
  log.info({ reason }, 'ending');
  ending.abort();
  for (const close of open.reverse()) await close();
});

const work = isFirstOfMany(config.gatewayWorkers) ? keepWorkers() : serve();
work.catch((error: unknown) => {
  if (ending.signal.aborted) return;
  log.fatal({ err: error }, 'the gateway cannot start');
  process.exit(1);
});

async function keepWorkers(): Promise<void> {
  const { gatewayWorkers: workers, metricsPort } = config;
  open.push(await runGatewayWorkers({ workers, metricsPort, log }));
}

async function serve(): Promise<void> {
  const store = createStore({ connectionString: config.databaseUrl, logger: log });
  open.push(() => store.close());
  const registry = createRegistry('gateway');
  const place = workerPlace();
  const name = `${hostname()}:${config.gatewayPort}${place === 0 ? '' : `/${place}`}`;
  const deployments = await openDeployments(store, { registry, name });
  const deps = {
    apps: store.apps,
    events: store.events,
    locate: (...asked: Parameters<Store['sessions']['locateKernel']>) => store.sessions.locateKernel(...asked),
    why: (sessionId: Parameters<Store['planning']['why']>[0]) => store.planning.why(sessionId),
    recordActivity: (report: Parameters<Store['usage']['recordActivity']>[0]) => store.usage.recordActivity(report),
    signer: await readTokenSigner(config.signingKeyFile),
    verifyKeys: await readVerifyKeys(config.verifyKeyFile),
    ...{ log, registry, deployments },
    options: {
      ...GATEWAY_DEFAULTS,
      name,
      appsUrl: config.appsUrl,
    },
  };
  const gateway = await untilOpen(() => createGateway(deps));
  open.push(() => gateway.close());
  const port = await gateway.listen({ host: config.listenHost, port: config.gatewayPort });
  await openMetrics(registry, place);
  if (new URL(config.appsUrl).protocol === 'http:') {
    log.warn(
      'apps are served without TLS: their cookies are not Secure; for anything but localhost, set https in BERTH_APPS_URL',
    );
  }
  log.info({ port, apps: config.appsUrl, worker: place }, 'listening');
}

interface Process {
  readonly registry: Registry;
  /** See `GatewayOptions.name`. */
  readonly name: string;
}

async function openDeployments(store: Store, { registry, name }: Process): Promise<DeploymentGateway> {
  const door = createTemporalDoor({ address: config.temporalAddress, namespace: config.temporalNamespace });
  open.push(() => door.close());
  const accessLog = createAccessLog({ process: 'gateway', level: config.logLevel });
  open.push(() => accessLog.close());
  const seal = await readSeal(config.sealingKeyFile);
  return untilOpen(() =>
    createDeploymentGateway({
      ...{ models: store.models, deployments: store.deployments, events: store.events, log, accessLog, registry, name },
      scheme: new URL(config.appsUrl).protocol.slice(0, -1),
      kickDeployment: (deploymentId) => door.kickDeployment(deploymentId),
      kickPool: (pool) => door.kickPool(pool),
      openApiKey: (sealed, instanceId) => String(seal.open(sealed, instanceId)),
      options: { ...MODEL_GATEWAY_DEFAULTS, workers: config.gatewayWorkers },
    }),
  );
}

async function openMetrics(registry: Registry, place: number): Promise<void> {
  if (place > 0) {
    AggregatorRegistry.setRegistries([registry]); // the first process asks each of its workers
    new AggregatorRegistry();
  } else if (config.metricsPort !== undefined) {
    const server = await startMetricsServer(registry, config.metricsPort);
    open.push(() => server.close());
  }
}

/** The first read of a table needs Postgres, and the API's migrations. */
async function untilOpen<T>(create: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await create();
    } catch (error) {
      log.warn({ err: error }, 'could not read the routing table; trying again');
      await pause(AGAIN_MS, undefined, { signal: ending.signal });
    }
  }
}
