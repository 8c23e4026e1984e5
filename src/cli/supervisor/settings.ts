import { createHash } from 'node:crypto';
import { availableParallelism, totalmem } from 'node:os';
import { type ConfigFile, readConfigFile, writeConfigFile } from '../../platform/config-file.js';
import type { StateDir } from '../../platform/state-dir.js';
import { choosePort } from './ports.js';
import { which } from './programs.js';

/** Flags of `berth up`; an unset one keeps what the state directory says, or the default at the first start. */
export interface UpFlags {
  readonly controlWorkers?: number;
  readonly gatewayWorkers?: number;
  /** Node agents on this machine. */
  readonly nodes?: number;
  readonly cpus?: number;
  readonly memoryBytes?: number;
  readonly simulatedGpus?: number;
  readonly gpuMemoryBytes?: number;
}

/** Names of ports with the number taken when it is free (`--state` elsewhere: always a free one). */
const USUAL_PORTS: Readonly<Record<string, number>> = {
  postgres: 5433,
  temporal: 7233,
  temporalUi: 8233,
  temporalMetrics: 9233,
  api: 8080,
  storage: 8081,
  storageMetrics: 9081,
  node: 8082,
  nodeMetrics: 9082,
  apiMetrics: 9080,
  gateway: 8084,
  gatewayMetrics: 9084,
};

/** Port names of one node agent, counted from 1. */
export const nodePortNames = (agent: number): readonly [port: string, metrics: string, temporalMetrics: string] => {
  const prefix = agent === 1 ? 'node' : `node${agent}`;
  return [prefix, `${prefix}Metrics`, `${prefix}TemporalMetrics`];
};
/** The nodes of this machine: the first has the name of the configuration, the others a number behind it. */
export const nodeNames = ({ node }: ConfigFile): readonly string[] =>
  Array.from({ length: node.count }, (_, index) => (index === 0 ? node.name : `${node.name}-${index + 1}`));

const GIB = 2 ** 30;
const SIMULATED_MODEL = 'simulated';
const DEFAULT_GPU_MEMORY_BYTES = 24 * GIB;

/** Port names of one control worker, counted from 1. */
export const controlPortNames = (worker: number) => [`control${worker}Metrics`, `control${worker}TemporalMetrics`];

/**
 * An agent owns the containers that carry its node's name, so two installations that share one engine need two names: the
 * usual one for the usual state directory, else one that follows from the directory.
 */
const nodeNameOf = (state: StateDir, isUsual: boolean): string =>
  isUsual ? 'local' : `local-${createHash('sha256').update(state.root).digest('hex').slice(0, 6)}`;

function firstNode(name: string): ConfigFile['node'] {
  const hasRealGpus = which('nvidia-smi') !== undefined;
  const count = hasRealGpus ? 0 : 4;
  return {
    name,
    group: 'default',
    count: 1,
    cpus: Math.max(4, availableParallelism()),
    memoryBytes: Math.max(1, Math.floor(totalmem() / GIB)) * GIB,
    simulatedGpus: [{ model: SIMULATED_MODEL, memoryBytes: DEFAULT_GPU_MEMORY_BYTES, count }],
  };
}

function withFlags(node: ConfigFile['node'], flags: UpFlags): ConfigFile['node'] {
  const [gpus, ...others] = node.simulatedGpus;
  return {
    ...node,
    count: flags.nodes ?? node.count,
    cpus: flags.cpus ?? node.cpus,
    memoryBytes: flags.memoryBytes ?? node.memoryBytes,
    simulatedGpus: [
      {
        ...gpus,
        model: gpus?.model ?? SIMULATED_MODEL,
        memoryBytes: flags.gpuMemoryBytes ?? gpus?.memoryBytes ?? DEFAULT_GPU_MEMORY_BYTES,
        count: flags.simulatedGpus ?? gpus?.count ?? 0,
      },
      ...others,
    ],
  };
}

async function withPorts(
  kept: Readonly<Record<string, number>>,
  names: readonly string[],
  wantsUsual: boolean,
): Promise<Record<string, number>> {
  const ports = { ...kept };
  for (const name of names) {
    const taken = new Set(Object.values(ports));
    ports[name] ??= await choosePort(wantsUsual ? USUAL_PORTS[name] : undefined, taken);
  }
  return ports;
}

/**
 * Reads the state directory's configuration, lets the flags change it, chooses ports that are still missing, and
 * writes it back. A second run with the same flags changes nothing.
 */
export async function settle(state: StateDir, flags: UpFlags, wantsUsualPorts: boolean): Promise<ConfigFile> {
  const kept = readConfigFile(state.configFile);
  const controlWorkers = flags.controlWorkers ?? kept?.controlWorkers ?? 1;
  const controls = Array.from({ length: controlWorkers }, (_, index) => controlPortNames(index + 1)).flat();
  const node = withFlags(kept?.node ?? firstNode(nodeNameOf(state, wantsUsualPorts)), flags);
  const agents = Array.from({ length: node.count }, (_, index) => nodePortNames(index + 1)).flat();
  const names = [...new Set([...Object.keys(USUAL_PORTS), ...agents, ...controls])];
  const ports = await withPorts(kept?.ports ?? {}, names, wantsUsualPorts);
  const gatewayWorkers = flags.gatewayWorkers ?? kept?.gatewayWorkers ?? 1;
  const config: ConfigFile = { version: 1, ports, controlWorkers, gatewayWorkers, node };
  writeConfigFile(state.configFile, config);
  return config;
}

/** A port that `settle` chose. */
export function portOf(config: ConfigFile, name: string): number {
  const port = config.ports[name];
  if (port === undefined) throw new Error(`config.yaml has no port "${name}"; mend: berth up`);
  return port;
}
