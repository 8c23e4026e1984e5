import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ChildSpec } from './child-spec.js';
import { untilVersioned } from './current-version.js';
import {
  apiEnvironment,
  controlEnvironment,
  gatewayEnvironment,
  nodeEnvironment,
  storageEnvironment,
  type WorkerName,
} from './environments.js';
import { externalDatabaseUrl, externalTemporalAddress, type Installation, temporalAddress } from './installation.js';
import { postgresChild } from './postgres-child.js';
import { answersHttp, healthUrl } from './probes.js';
import { findTemporalProgram, workerArguments } from './programs.js';
import { nodeNames, nodePortNames, portOf } from './settings.js';
import { temporalChild } from './temporal-child.js';

const VERSION_SECONDS = 60;

interface Worker {
  readonly name: string;
  readonly program: WorkerName;
  readonly env: Readonly<Record<string, string>>;
  readonly healthPort: number;
  afterReady?(): Promise<void>;
}

/** The API starts first: it migrates the database, and knows the first key and node. It also stops first: nothing new. */
const RANKS = {
  api: { startRank: 1, stopRank: 0, stopSeconds: 15 },
  storage: { startRank: 2, stopRank: 1, stopSeconds: 15 },
  gateway: { startRank: 2, stopRank: 1, stopSeconds: 15 },
  // Workers give running activities 20 s (`shutdownGraceTime`); the kill comes after.
  control: { startRank: 2, stopRank: 1, stopSeconds: 25 },
  node: { startRank: 2, stopRank: 1, stopSeconds: 25 },
} as const satisfies Record<WorkerName, object>;

const workerChild = ({ program, healthPort, ...worker }: Worker): ChildSpec => ({
  ...worker,
  kind: 'node',
  ...RANKS[program],
  command: [process.execPath, ...workerArguments(program, worker.env)],
  stopSignal: 'SIGTERM',
  isReady: () => answersHttp(healthUrl(healthPort)),
});

/** A control worker serves once Temporal sends tasks to its version; without the program nobody can tell. */
function waitForVersion(berth: Installation): Pick<Worker, 'afterReady'> {
  const program = findTemporalProgram(berth.env);
  if (program === undefined) return {};
  return { afterReady: () => untilVersioned(program, temporalAddress(berth), VERSION_SECONDS) };
}

function workers(berth: Installation): ChildSpec[] {
  const { config } = berth;
  const versioned = waitForVersion(berth);
  const controls = Array.from({ length: config.controlWorkers }, (_, index): Worker => {
    const healthPort = portOf(config, `control${index + 1}Metrics`);
    const env = controlEnvironment(berth, index + 1);
    return { name: `control-${index + 1}`, program: 'control', env, healthPort, ...versioned };
  });
  const singles = [
    { name: 'api', env: apiEnvironment(berth) },
    { name: 'storage', env: storageEnvironment(berth) },
    { name: 'gateway', env: gatewayEnvironment(berth) },
  ] as const;
  const others = singles.map(
    ({ name, env }): Worker => ({ name, program: name, env, healthPort: portOf(config, name) }),
  );
  const agents = nodeNames(config).map((_, index): Worker => {
    const healthPort = portOf(config, nodePortNames(index + 1)[0]);
    const name = index === 0 ? 'node' : `node-${index + 1}`;
    return { name, program: 'node', env: nodeEnvironment(berth, index + 1), healthPort };
  });
  return [...others, ...agents, ...controls].map(workerChild);
}

/**
 * The processes of `berth up`, with what others run left out. Throws, with the mend, when a program is missing:
 * before anything is started.
 */
export function berthChildren(berth: Installation): ChildSpec[] {
  mkdirSync(join(berth.state.volumesDir, 'default'), { recursive: true, mode: 0o755 });
  for (const name of nodeNames(berth.config)) {
    mkdirSync(join(berth.state.nodesDir, name), { recursive: true, mode: 0o755 });
  }
  const engines: ChildSpec[] = [];
  if (externalDatabaseUrl(berth) === undefined) engines.push(postgresChild(berth));
  if (externalTemporalAddress(berth) === undefined) {
    const program = findTemporalProgram(berth.env);
    if (program === undefined) throw new Error('no `temporal` program; mend: node infra/setup/temporal.mjs');
    engines.push(temporalChild(berth, program));
  }
  return [...engines, ...workers(berth)];
}
