import { join } from 'node:path';
import { commandLine, isRunning, type ProcessIdentity } from '../../platform/process-identity.js';
import type { ChildSpec } from './child-spec.js';
import { passedOn } from './environments.js';
import { type Installation, temporalAddress } from './installation.js';
import { temporalCli, temporalServes } from './probes.js';
import { readRunStatus } from './run-status.js';
import { portOf } from './settings.js';
import { temporalArguments } from './temporal-arguments.js';

/** 30 days: the default forgets a session's history after one. */
const RETENTION = '720h';

/** The one that the last supervisor noted, alive, and still serving this file. */
function findOrphan(berth: Installation, databaseFile: string): ProcessIdentity | undefined {
  const noted = readRunStatus(berth.state)?.children.find(({ name }) => name === 'temporal')?.process;
  if (noted === undefined || noted === null || !isRunning(noted)) return undefined;
  return commandLine(noted.pid).includes(databaseFile) ? noted : undefined;
}

/** Temporal's development server on a file, with its web UI. */
export function temporalChild(berth: Installation, program: string): ChildSpec {
  const { config, state, env } = berth;
  const address = temporalAddress(berth);
  const databaseFile = join(state.temporalDir, 'temporal.db');
  const args = temporalArguments({
    port: portOf(config, 'temporal'),
    uiPort: portOf(config, 'temporalUi'),
    metricsPort: portOf(config, 'temporalMetrics'),
    databaseFile,
  });
  const retention = ['operator', 'namespace', 'update', '--namespace', 'default', '--retention', RETENTION];
  return {
    name: 'temporal',
    rank: 0,
    kind: 'program',
    command: [program, ...args],
    env: passedOn(env),
    stopSignal: 'SIGTERM',
    stopSeconds: 20,
    isReady: () => temporalServes(program, address),
    afterReady: async () => void (await temporalCli(program, address, retention)),
    findOrphan: () => findOrphan(berth, databaseFile),
  };
}
