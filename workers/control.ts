import type { ControlDependencies } from '../activities/control/dependencies.js';
import { durationsOf } from '../src/lifecycle/durations.js';
import { parseControlConfig } from '../src/platform/config.js';
import { newKernelId } from '../src/platform/ids.js';
import { createLogger } from '../src/platform/log.js';
import { countersIn, createRegistry, startMetricsServer } from '../src/platform/metrics.js';
import { onEnd } from '../src/platform/process-end.js';
import { createPrometheus } from '../src/platform/prometheus.js';
import { readSeal } from '../src/platform/seal.js';
import { newEngineKey } from '../src/platform/tokens.js';
import { createStore } from '../src/store/create-store.js';
import { createTemporalDoor } from '../src/temporal/create-temporal-door.js';
import { tickUntil } from './control-ticks.js';
import { createControlWorker } from './control-worker.js';
import { createPassRecorder } from './pass-recorder.js';
import { installTemporalRuntime } from './temporal-runtime.js';

/** A control worker: workflows, the activities that touch Postgres, the uptime mark and (one at a time) the sweeper. */
const AGAIN_MS = 1_000;

const config = parseControlConfig(process.env);
const log = createLogger({ process: 'control', level: config.logLevel });
const ending = new AbortController();
let shutDown: () => void = () => undefined;
let finished: Promise<void> = Promise.resolve();

onEnd(async (reason) => {
  log.info({ reason }, 'ending');
  ending.abort();
  shutDown();
  await finished;
});

finished = main();
finished.catch((error: unknown) => {
  log.fatal({ err: error }, 'the control worker cannot go on');
  process.exit(1);
});

async function main(): Promise<void> {
  installTemporalRuntime(log, config.temporalMetricsPort);
  const registry = createRegistry('control');
  if (config.metricsPort !== undefined) await startMetricsServer(registry, config.metricsPort);
  const address = { address: config.temporalAddress, namespace: config.temporalNamespace };
  const store = createStore({ connectionString: config.databaseUrl });
  const door = createTemporalDoor({ ...address, durations: durationsOf(config.nodeSilenceSeconds) });
  const recorded =
    config.recordPasses === undefined ? {} : { recordPass: await createPassRecorder(config.recordPasses) };
  const seal = await readSeal(config.sealingKeyFile);
  const sealApiKey = (instanceId: string) => seal.seal(newEngineKey(), instanceId);
  const count = countersIn(registry, 'berth_control');
  const prometheus = createPrometheus({ url: config.prometheusUrl });
  const dependencies = { store, door, newKernelId, sealApiKey, seal, prometheus, log, count, ...recorded };
  await untilItWorks('Postgres', () => store.migrate());
  const ticks = tickUntil(dependencies, ending.signal);
  while (!ending.signal.aborted) await work(dependencies, address);
  await ticks;
  await door.close();
  await store.close();
}

type Created = Awaited<ReturnType<typeof createControlWorker>>;

/** One connection and its worker; returns when it is cut or when the process ends. */
async function work(dependencies: ControlDependencies, address: { address: string; namespace: string }): Promise<void> {
  try {
    const created = await createControlWorker({
      ...address,
      buildId: config.buildId,
      dependencies,
    });
    const { worker, connection } = created;
    shutDown = () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
    };
    await Promise.race([takeOver(dependencies, created), pause()]); // nobody waits for more than it spares
    const running = worker.run();
    if (ending.signal.aborted) shutDown();
    created.becomeCurrent().then(
      () => log.info({ buildId: config.buildId }, 'current version of the deployment'),
      (error: unknown) => log.error({ err: error }, 'no current version: nothing will run'),
    );
    await running;
    await connection.close();
  } catch (error) {
    log.warn({ err: error }, 'no work from Temporal; trying again');
    await pause();
  }
}

/** Groups that cannot be taken over wait for the worker that is gone, for 2 s each time. */
async function takeOver({ store }: ControlDependencies, created: Created): Promise<void> {
  try {
    await created.takeOver(await store.control.groups());
  } catch (error) {
    log.warn({ err: error }, 'groups may wait for a worker that is gone');
  }
}

async function untilItWorks(what: string, attempt: () => Promise<void>): Promise<void> {
  while (!ending.signal.aborted) {
    try {
      await attempt();
      return;
    } catch (error) {
      log.warn({ err: error }, `${what} is not ready; trying again`);
      await pause();
    }
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
}
