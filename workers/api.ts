import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { DEFAULT_OPTIONS, startApi } from '../src/api/start-api.js';
import { durationsOf } from '../src/lifecycle/durations.js';
import { type ApiConfig, parseApiConfig } from '../src/platform/config.js';
import { newApiKeyId, newDomainId, newProjectId, newUserId } from '../src/platform/ids.js';
import { createLogger, type Logger } from '../src/platform/log.js';
import { createRegistry, startMetricsServer } from '../src/platform/metrics.js';
import { onEnd } from '../src/platform/process-end.js';
import { readSeal } from '../src/platform/seal.js';
import { hashSecret, readTokenSigner, shownPrefix } from '../src/platform/tokens.js';
import { createStore } from '../src/store/create-store.js';
import type { Store } from '../src/store/store.js';
import { createTemporalDoor } from '../src/temporal/create-temporal-door.js';
import type { TemporalDoor } from '../src/temporal/door.js';

/** The REST API. Starts whatever is away: it waits for Postgres, and tells its callers while Temporal is away. */
const VERSION = '0.1.0';
const AGAIN_MS = 1_000;

const config = parseApiConfig(process.env);
const log = createLogger({ process: 'api', level: config.logLevel });
const ending = new AbortController();
const open: (() => Promise<unknown>)[] = [];

onEnd(async (reason) => {
  log.info({ reason }, 'ending');
  ending.abort();
  for (const close of open.reverse()) await close();
});

main().catch((error: unknown) => {
  if (ending.signal.aborted) return;
  log.fatal({ err: error }, 'the API cannot start');
  process.exit(1);
});

async function main(): Promise<void> {
  const store = createStore({ connectionString: config.databaseUrl, logger: log });
  open.push(() => store.close());
  await untilDone('prepare the database', log, async () => {
    await store.migrate();
    await bootstrap(store, config);
  });
  const door = createTemporalDoor({
    address: config.temporalAddress,
    namespace: config.temporalNamespace,
    durations: durationsOf(config.nodeSilenceSeconds),
  });
  open.push(() => door.close());
  const app = await createApp(store, door);
  await app.listen({ host: config.listenHost, port: config.apiPort });
  open.push(() => app.close());
  log.info({ port: config.apiPort }, 'listening');
  await untilDone('start the first workflows', log, async () => {
    await door.ensureGroup(config.nodeGroup);
    for (const { name } of nodesOf(config)) await door.ensureNode(name);
  });
}

async function createApp(store: Store, door: TemporalDoor): Promise<FastifyInstance> {
  const registry = createRegistry('api');
  const seal = await readSeal(config.sealingKeyFile);
  const signer = await readTokenSigner(config.signingKeyFile);
  const { storageUrl, gatewayUrl, appsUrl } = config;
  const options = {
    ...DEFAULT_OPTIONS,
    version: VERSION,
    storageUrl,
    gatewayUrl,
    appsUrl,
    volumes: Object.keys(config.volumes),
  };
  const app = await startApi({ store, door, seal, signer, registry, log, options });
  if (config.metricsPort !== undefined) {
    const server = await startMetricsServer(registry, config.metricsPort);
    open.push(() => server.close());
  }
  return app;
}

const nodesOf = ({ nodeName, nodeToken, furtherNodes }: ApiConfig) => [
  { name: nodeName, token: nodeToken },
  ...furtherNodes,
];

/** The first people, group, nodes and volumes of a new machine; changes nothing that is there. */
async function bootstrap(store: Store, settings: ApiConfig): Promise<void> {
  const { bootstrapKeyFile, ...rest } = settings;
  if (bootstrapKeyFile === undefined) return;
  const key = (await readFile(bootstrapKeyFile, 'utf8')).trim();
  const ids = { domain: newDomainId(), project: newProjectId(), user: newUserId(), key: newApiKeyId() };
  await store.tenancy.bootstrap({
    ids,
    adminKeyHash: hashSecret(key),
    adminKeyPrefix: shownPrefix(key),
    group: rest.nodeGroup,
    nodes: nodesOf(settings).map(({ name, token }) => ({ name, tokenHash: hashSecret(token) })),
    volumes: Object.keys(rest.volumes),
  });
}

/** Tries each second until it is done or the process ends. */
async function untilDone(what: string, logger: Logger, work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      logger.warn({ err: error }, `could not ${what}; trying again`);
      await pause(AGAIN_MS, undefined, { signal: ending.signal });
    }
  }
}
