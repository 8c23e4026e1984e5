import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { createGateway, GATEWAY_DEFAULTS, type Gateway, type GatewayDeps } from '../src/gateway/create-gateway.js';
import { parseGatewayConfig } from '../src/platform/config.js';
import { createLogger } from '../src/platform/log.js';
import { createRegistry, startMetricsServer } from '../src/platform/metrics.js';
import { onEnd } from '../src/platform/process-end.js';
import { readTokenSigner, readVerifyKeys } from '../src/platform/tokens.js';
import { createStore } from '../src/store/create-store.js';

/** The gateway: the proxy before the ports of sessions. Stateless; it waits for Postgres, and outlives its absence. */
const AGAIN_MS = 1_000;

const config = parseGatewayConfig(process.env);
const log = createLogger({ process: 'gateway', level: config.logLevel });
const ending = new AbortController();
const open: (() => Promise<unknown>)[] = [];

onEnd(async (reason) => {
  log.info({ reason }, 'ending');
  ending.abort();
  for (const close of open.reverse()) await close();
});

main().catch((error: unknown) => {
  if (ending.signal.aborted) return;
  log.fatal({ err: error }, 'the gateway cannot start');
  process.exit(1);
});

async function main(): Promise<void> {
  const store = createStore({ connectionString: config.databaseUrl, logger: log });
  open.push(() => store.close());
  const registry = createRegistry('gateway');
  const gateway = await untilOpen({
    apps: store.apps,
    events: store.events,
    locate: (...asked) => store.sessions.locateKernel(...asked),
    why: (sessionId) => store.planning.why(sessionId),
    recordActivity: (report) => store.usage.recordActivity(report),
    signer: await readTokenSigner(config.signingKeyFile),
    verifyKeys: await readVerifyKeys(config.verifyKeyFile),
    log,
    registry,
    options: { ...GATEWAY_DEFAULTS, name: `${hostname()}:${config.gatewayPort}`, appsUrl: config.appsUrl },
  });
  open.push(() => gateway.close());
  const port = await gateway.listen({ host: config.listenHost, port: config.gatewayPort });
  if (config.metricsPort !== undefined) {
    const server = await startMetricsServer(registry, config.metricsPort);
    open.push(() => server.close());
  }
  if (new URL(config.appsUrl).protocol === 'http:') {
    log.warn(
      'apps are served without TLS: their cookies are not Secure; for anything but localhost, set https in BERTH_APPS_URL',
    );
  }
  log.info({ port, apps: config.appsUrl }, 'listening');
}

/** The first read of the routing table needs Postgres, and the API's migrations. */
async function untilOpen(deps: GatewayDeps): Promise<Gateway> {
  for (;;) {
    try {
      return await createGateway(deps);
    } catch (error) {
      log.warn({ err: error }, 'could not read the routing table; trying again');
      await pause(AGAIN_MS, undefined, { signal: ending.signal });
    }
  }
}
