import { join } from 'node:path';
import { appsUrl, databaseUrl, type Installation, temporalAddress, urlsOf } from './installation.js';
import { furtherNodeToken } from './secrets.js';
import { controlPortNames, nodeNames, nodePortNames, portOf } from './settings.js';

export const WORKERS = ['control', 'node', 'api', 'storage', 'gateway'] as const;
export type WorkerName = (typeof WORKERS)[number];

type Environment = Readonly<Record<string, string>>;

/** Names that reach a child from the supervisor's own environment; nothing else does. */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'TZ', 'DOCKER_HOST', 'BERTH_LOG_LEVEL', 'BERTH_PORT_RANGE', 'NODE_OPTIONS'];

/** What an agent takes besides: how its GPUs are shared, the check of its machine, where models' artifacts come from. */
const PASSED_ON_TO_NODES = [
  'BERTH_NODE_SHARING',
  'BERTH_NODE_MPS_DIRECTORY',
  'BERTH_NODE_HEALTH_COMMAND',
  'BERTH_NODE_HEALTH_INTERVAL_SECONDS',
  'BERTH_NODE_HEALTH_TIMEOUT_SECONDS',
  'BERTH_NODE_HEALTH_FAILURES',
  'BERTH_NODE_USAGE_SECONDS',
  'BERTH_ENGINE_LOOK_SECONDS',
  'BERTH_ARTIFACT_CACHE_BYTES',
  'BERTH_HUGGINGFACE_ENDPOINT',
  'BERTH_S3_ENDPOINT',
  'BERTH_S3_REGION',
  'HF_TOKEN',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
];

/** What starts the workflows of nodes and plans takes besides. */
const PASSED_ON_TO_CONTROL = ['BERTH_NODE_SILENCE_SECONDS', 'BERTH_RECORD_PASSES', 'BERTH_PROMETHEUS_URL'];

export function passedOn(env: NodeJS.ProcessEnv, names: readonly string[] = PASSED_ON): Environment {
  const kept = names.map((name) => [name, env[name]] as const);
  return Object.fromEntries(kept.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function common(berth: Installation): Environment {
  return {
    ...passedOn(berth.env),
    BERTH_STATE: berth.state.root,
    BERTH_BUILD_ID: berth.buildId,
    BERTH_TEMPORAL_ADDRESS: temporalAddress(berth),
    BERTH_TEMPORAL_NAMESPACE: berth.env['BERTH_TEMPORAL_NAMESPACE'] ?? 'default',
  };
}

const volumes = (berth: Installation) => JSON.stringify({ default: join(berth.state.volumesDir, 'default') });

/** `agent` counts from 1. */
function nodeIdentity({ config, secrets }: Installation, agent = 1): Environment {
  const name = nodeNames(config)[agent - 1] ?? config.node.name;
  return {
    BERTH_NODE_NAME: name,
    BERTH_NODE_GROUP: config.node.group,
    BERTH_NODE_TOKEN: agent === 1 ? secrets.nodeToken : furtherNodeToken(secrets, name),
  };
}

/** `worker` counts from 1; a further one outside the supervisor has no ports. */
export function controlEnvironment(berth: Installation, worker?: number): Environment {
  const [metrics = '', temporalMetrics = ''] = worker === undefined ? [] : controlPortNames(worker);
  const ports = {
    BERTH_METRICS_PORT: worker === undefined ? '' : String(portOf(berth.config, metrics)),
    BERTH_TEMPORAL_METRICS_PORT: worker === undefined ? '' : String(portOf(berth.config, temporalMetrics)),
  };
  const passed = passedOn(berth.env, PASSED_ON_TO_CONTROL);
  const secrets = { DATABASE_URL: databaseUrl(berth), BERTH_SEALING_KEY_FILE: berth.secrets.sealingKeyFile };
  return { ...common(berth), ...passed, ...ports, ...secrets };
}

export function nodeEnvironment(berth: Installation, agent = 1): Environment {
  const { config, state, secrets } = berth;
  const [port, metricsPort, temporalMetricsPort] = nodePortNames(agent);
  const identity = nodeIdentity(berth, agent);
  return {
    ...common(berth),
    ...passedOn(berth.env, PASSED_ON_TO_NODES),
    ...identity,
    BERTH_API_URL: urlsOf(berth).api,
    BERTH_NODE_PORT: String(portOf(config, port)),
    BERTH_NODE_ADDRESS: `http://127.0.0.1:${portOf(config, port)}`,
    BERTH_NODE_CPUS: String(config.node.cpus),
    BERTH_NODE_MEMORY_BYTES: String(config.node.memoryBytes),
    BERTH_SIMULATED_GPUS: JSON.stringify(config.node.simulatedGpus.filter(({ count }) => count > 0)),
    BERTH_NODE_STATE: join(state.nodesDir, identity['BERTH_NODE_NAME'] ?? ''),
    BERTH_VERIFY_KEY_FILE: secrets.verifyKeyFile,
    BERTH_VOLUMES: volumes(berth),
    BERTH_METRICS_PORT: String(portOf(config, metricsPort)),
    BERTH_TEMPORAL_METRICS_PORT: String(portOf(config, temporalMetricsPort)),
  };
}

export function apiEnvironment(berth: Installation): Environment {
  const { config, secrets } = berth;
  return {
    ...common(berth),
    ...passedOn(berth.env, PASSED_ON_TO_CONTROL),
    ...nodeIdentity(berth),
    BERTH_FURTHER_NODES: JSON.stringify(
      nodeNames(config)
        .slice(1)
        .map((name) => ({ name, token: furtherNodeToken(secrets, name) })),
    ),
    DATABASE_URL: databaseUrl(berth),
    BERTH_API_PORT: String(portOf(config, 'api')),
    BERTH_API_URL: urlsOf(berth).api,
    BERTH_STORAGE_URL: urlsOf(berth).storage,
    BERTH_GATEWAY_URL: urlsOf(berth).gateway,
    BERTH_APPS_URL: appsUrl(berth),
    BERTH_VOLUMES: volumes(berth),
    BERTH_SEALING_KEY_FILE: secrets.sealingKeyFile,
    BERTH_SIGNING_KEY_FILE: secrets.signingKeyFile,
    BERTH_VERIFY_KEY_FILE: secrets.verifyKeyFile,
    BERTH_BOOTSTRAP_KEY_FILE: secrets.bootstrapKeyFile,
    BERTH_METRICS_PORT: String(portOf(config, 'apiMetrics')),
  };
}

export function gatewayEnvironment(berth: Installation): Environment {
  const { config, secrets } = berth;
  return {
    ...common(berth),
    DATABASE_URL: databaseUrl(berth),
    BERTH_GATEWAY_PORT: String(portOf(config, 'gateway')),
    BERTH_GATEWAY_WORKERS: String(config.gatewayWorkers),
    BERTH_SEALING_KEY_FILE: secrets.sealingKeyFile,
    BERTH_APPS_URL: appsUrl(berth),
    BERTH_SIGNING_KEY_FILE: secrets.signingKeyFile,
    BERTH_VERIFY_KEY_FILE: secrets.verifyKeyFile,
    BERTH_METRICS_PORT: String(portOf(config, 'gatewayMetrics')),
  };
}

export function storageEnvironment(berth: Installation): Environment {
  return {
    ...common(berth),
    BERTH_STORAGE_PORT: String(portOf(berth.config, 'storage')),
    BERTH_VOLUMES: volumes(berth),
    BERTH_VERIFY_KEY_FILE: berth.secrets.verifyKeyFile,
    BERTH_METRICS_PORT: String(portOf(berth.config, 'storageMetrics')),
  };
}
