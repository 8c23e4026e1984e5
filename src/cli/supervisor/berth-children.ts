import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ChildSpec } from './child-spec.js';
import {
  apiEnvironment,
  controlEnvironment,
  nodeEnvironment,
  storageEnvironment,
  type WorkerName,
} from './environments.js';
import { externalDatabaseUrl, externalTemporalAddress, type Installation } from './installation.js';
import { postgresChild } from './postgres-child.js';
import { answersHttp, healthUrl } from './probes.js';
import { builtProgram, findTemporalProgram } from './programs.js';
import { portOf } from './settings.js';
import { temporalChild } from './temporal-child.js';

interface Worker {
  readonly name: string;
  readonly program: WorkerName;
  readonly rank: number;
  readonly env: Readonly<Record<string, string>>;
  readonly healthPort: number;
  readonly stopSeconds: number;
}

function workerChild({ name, program, rank, env, healthPort, stopSeconds }: Worker): ChildSpec {
  return {
    name,
    rank,
    kind: 'node',
    command: [process.execPath, '--enable-source-maps', builtProgram(`workers/${program}.js`)],
    env,
    stopSignal: 'SIGTERM',
    stopSeconds,
    isReady: () => answersHttp(healthUrl(healthPort)),
  };
}

/** Workers give running activities 20 s (`shutdownGraceTime`); the kill comes after. */
const WORKER_STOP_SECONDS = 25;

function workers(berth: Installation): ChildSpec[] {
  const { config } = berth;
  const controls = Array.from({ length: config.controlWorkers }, (_, index): Worker => {
    const worker = index + 1;
    const healthPort = portOf(config, `control${worker}Metrics`);
    const env = controlEnvironment(berth, worker);
    return {
      name: `control-${worker}`,
      program: 'control',
      rank: 2,
      env,
      healthPort,
      stopSeconds: WORKER_STOP_SECONDS,
    };
  });
  const table: Worker[] = [
    // The API first: it migrates the database, and knows the first key and node.
    {
      name: 'api',
      program: 'api',
      rank: 1,
      env: apiEnvironment(berth),
      healthPort: portOf(config, 'api'),
      stopSeconds: 15,
    },
    ...controls,
    {
      ...{ name: 'node', program: 'node', rank: 2, env: nodeEnvironment(berth), healthPort: portOf(config, 'node') },
      stopSeconds: WORKER_STOP_SECONDS,
    },
    {
      ...{ name: 'storage', program: 'storage', rank: 2, env: storageEnvironment(berth) },
      ...{ healthPort: portOf(config, 'storage'), stopSeconds: 15 },
    },
  ];
  return table.map(workerChild);
}

/**
 * The processes of `berth up`, with what others run left out. Throws, with the mend, when a program is missing:
 * before anything is started.
 */
export function berthChildren(berth: Installation): ChildSpec[] {
  mkdirSync(join(berth.state.volumesDir, 'default'), { recursive: true, mode: 0o755 });
  mkdirSync(join(berth.state.nodesDir, berth.config.node.name), { recursive: true, mode: 0o755 });
  const engines: ChildSpec[] = [];
  if (externalDatabaseUrl(berth) === undefined) engines.push(postgresChild(berth));
  if (externalTemporalAddress(berth) === undefined) {
    const program = findTemporalProgram(berth.env);
    if (program === undefined) throw new Error('no `temporal` program; mend: node infra/setup/temporal.mjs');
    engines.push(temporalChild(berth, program));
  }
  return [...engines, ...workers(berth)];
}
