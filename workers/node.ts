import { join } from 'node:path';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createEngineActivities } from '../activities/node/engines.js';
import { createNodeActivities } from '../activities/node/kernels.js';
import { type Agent, createAgent } from '../src/agent/agent.js';
import type { ArtifactSettings } from '../src/agent/engines/artifact-files.js';
import { createInstantContainers } from '../src/agent/instant-containers.js';
import { takeLock } from '../src/agent/lock-file.js';
import type { MachineCheck } from '../src/agent/node-health.js';
import { pause } from '../src/agent/retry.js';
import type { DeviceProvider } from '../src/devices/device-provider.js';
import { createNvidiaMemory } from '../src/devices/gpu-memory.js';
import { createNvidiaProvider } from '../src/devices/nvidia-smi.js';
import { runProgram } from '../src/devices/run-program.js';
import { createSimulatedProvider } from '../src/devices/simulated.js';
import { connectDocker } from '../src/docker/connect.js';
import { type Containers, createContainers } from '../src/docker/containers.js';
import { nodeQueue } from '../src/lifecycle/names.js';
import { type NodeConfig, parseNodeConfig } from '../src/platform/config.js';
import { createLogger, type Logger } from '../src/platform/log.js';
import { createRegistry, startMetricsServer } from '../src/platform/metrics.js';
import { onEnd } from '../src/platform/process-end.js';
import { installTemporalRuntime } from './temporal-runtime.js';

/** The node agent: registers, reconciles, then works on `node/<name>`. It goes on whatever is away, and ends only when told. */
const AGENT_VERSION = '0.1.0';
const WORKER_AGAIN_MS = 2_000;
/** A start waits on a pull for minutes, and a removal on a grace period; neither costs the agent anything. */
const ACTIVITIES_MAX = 200;

const config = parseNodeConfig(process.env);
const log = createLogger({ process: `node/${config.nodeName}`, level: config.logLevel });
const ending = new AbortController();
let worker: Worker | undefined;
let finished: Promise<void> = Promise.resolve();

onEnd(async (reason) => {
  log.info({ reason }, 'ending; containers go on');
  ending.abort();
  if (worker?.getState() === 'RUNNING') worker.shutdown();
  await finished;
});

finished = main();
finished.catch((error: unknown) => {
  log.fatal({ err: error }, 'the agent cannot go on');
  process.exit(1);
});

async function main(): Promise<void> {
  const freeLock = takeLock(config.nodeName, config.dockerHost ?? 'default');
  installTemporalRuntime(log, config.temporalMetricsPort);
  const registry = createRegistry('node');
  if (config.metricsPort !== undefined) await startMetricsServer(registry, config.metricsPort);
  const agent = await createAgent(agentSettings(config), {
    containers: runtime(log),
    devices: deviceProvider(config),
    gpuMemory: config.simulatedGpus.length > 0 ? undefined : createNvidiaMemory(),
    registry,
    log,
  });
  const loopsEnd = new AbortController(); // after the worker: a removal under way still waits for an acknowledgement
  const loops = agent.run(loopsEnd.signal);
  try {
    await agent.prepare(ending.signal);
    while (!ending.signal.aborted) await workUntilCut(agent);
  } catch (error) {
    if (!ending.signal.aborted) throw error;
  } finally {
    loopsEnd.abort();
    await loops;
    await agent.close();
    freeLock();
  }
}

/** One connection to Temporal and its worker; returns when it is cut, or when the agent ends. */
async function workUntilCut(agent: Agent): Promise<void> {
  let connection: NativeConnection | undefined;
  try {
    connection = await NativeConnection.connect({ address: config.temporalAddress });
    const { workflowService } = connection;
    const reachesTemporal = async (): Promise<void> => void (await workflowService.getSystemInfo({}));
    worker = await Worker.create({
      connection,
      namespace: config.temporalNamespace,
      taskQueue: nodeQueue(config.nodeName),
      identity: `node/${config.nodeName}@${process.pid}`,
      activities: {
        ...createNodeActivities({ ...agent, reachesTemporal, ending: ending.signal }),
        ...createEngineActivities(agent.engines),
      },
      activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 2 },
      maxConcurrentActivityTaskExecutions: ACTIVITIES_MAX,
      // A cancellation comes with a heartbeat's answer: a stopped start must not wait for a throttled one.
      maxHeartbeatThrottleInterval: '1s',
      shutdownGraceTime: '20 s',
    });
    if (!ending.signal.aborted) await worker.run();
  } catch (error) {
    log.warn({ err: error }, 'no work from Temporal; trying again');
  } finally {
    worker = undefined;
    await connection?.close().catch(() => undefined);
  }
  await pause(WORKER_AGAIN_MS, ending.signal);
}

function agentSettings({ nodeName: node, ...rest }: NodeConfig): Parameters<typeof createAgent>[0] {
  return {
    node,
    token: rest.nodeToken,
    apiUrl: rest.apiUrl,
    agentUrl: rest.nodeAddress,
    agentVersion: AGENT_VERSION,
    port: rest.nodePort,
    stateDir: rest.nodeState,
    portRange: rest.portRange,
    volumes: rest.volumes,
    mpsDirectory: rest.nodeMpsDirectory,
    verifyKeyFile: rest.verifyKeyFile,
    cpus: rest.nodeCpus,
    memoryBytes: rest.nodeMemoryBytes,
    health: { check: machineCheck(rest) },
    usage: { everyMs: rest.nodeUsageSeconds * 1000 },
    engines: {
      lookEveryMs: rest.engineLookSeconds * 1000,
      artifactBytesMax: rest.artifactCacheBytes,
      artifacts: artifactSettings(rest),
    },
  };
}

function artifactSettings(rest: Omit<NodeConfig, 'nodeName'>): ArtifactSettings {
  const { awsAccessKeyId: id, awsSecretAccessKey: secret, awsSessionToken: token } = rest;
  return {
    huggingFaceEndpoint: rest.huggingfaceEndpoint.replace(/\/$/, ''),
    huggingFaceToken: rest.hfToken,
    s3: {
      endpoint: rest.s3Endpoint,
      region: rest.s3Region,
      ...(id !== undefined && secret !== undefined && { keys: { id, secret, token } }),
    },
  };
}

function machineCheck(rest: Omit<NodeConfig, 'nodeName'>): MachineCheck | undefined {
  const { nodeHealthCommand: command } = rest;
  return (
    command && {
      command,
      intervalSeconds: rest.nodeHealthIntervalSeconds,
      timeoutSeconds: rest.nodeHealthTimeoutSeconds,
      failures: rest.nodeHealthFailures,
    }
  );
}

/** `BERTH_NODE_RUNTIME=instant` is for the benchmark alone, and says so loudly. */
function runtime(log: Logger): Containers {
  if (process.env['BERTH_NODE_RUNTIME'] !== 'instant') return createContainers({ docker: connectDocker() });
  log.error('BERTH_NODE_RUNTIME=instant: a SIMULATED runtime, no container really runs; never use this but to measure');
  return createInstantContainers();
}

/** Declared devices stand for a machine without GPUs: they are never mixed with real ones. */
function deviceProvider({ simulatedGpus, nodeState, nodeSharing = {} }: NodeConfig): DeviceProvider {
  if (simulatedGpus.length > 0) return createSimulatedProvider(simulatedGpus, join(nodeState, 'simulated-loads.json'));
  return createNvidiaProvider(runProgram, { sharing: nodeSharing });
}
