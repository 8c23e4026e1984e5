import { parseStorageConfig } from '../src/platform/config.js';
import { createLogger } from '../src/platform/log.js';
import { createRegistry, startMetricsServer } from '../src/platform/metrics.js';
import { onEnd } from '../src/platform/process-end.js';
import { readVerifyKeys } from '../src/platform/tokens.js';
import { createStorageProxy } from '../src/storage/create-storage-proxy.js';

/** The storage proxy: one on each host that has volumes. */
const config = parseStorageConfig(process.env);
const log = createLogger({ process: 'storage', level: config.logLevel });
const open: (() => Promise<unknown>)[] = [];

onEnd(async (reason) => {
  log.info({ reason }, 'ending');
  for (const close of open.reverse()) await close();
});

main().catch((error: unknown) => {
  log.fatal({ err: error }, 'the storage proxy cannot start');
  process.exit(1);
});

async function main(): Promise<void> {
  const registry = createRegistry('storage');
  const verifyKeys = await readVerifyKeys(config.verifyKeyFile);
  const app = await createStorageProxy({ volumes: config.volumes, verifyKeys, log, registry });
  await app.listen({ host: config.listenHost, port: config.storagePort });
  open.push(() => app.close());
  if (config.metricsPort !== undefined) {
    const server = await startMetricsServer(registry, config.metricsPort);
    open.push(() => server.close());
  }
  log.info({ port: config.storagePort, volumes: Object.keys(config.volumes) }, 'listening');
}
