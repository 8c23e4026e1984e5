import { join } from 'node:path';
import { findByArgument } from '../../platform/process-identity.js';
import type { StateDir } from '../../platform/state-dir.js';
import type { ChildSpec } from './child-spec.js';
import { passedOn } from './environments.js';
import { type Installation, temporalAddress } from './installation.js';
import { temporalCli, temporalServes } from './probes.js';
import { portOf } from './settings.js';
import { temporalArguments } from './temporal-arguments.js';

/** 30 days: the default forgets a session's history after one. */
const RETENTION = '720h';

/** Its path on a command line tells the server of this directory from any other. */
export const temporalDatabaseFile = (state: StateDir): string => join(state.temporalDir, 'temporal.db');

/** Temporal's development server on a file, with its web UI. */
export function temporalChild(berth: Installation, program: string): ChildSpec {
  const { config, state, env } = berth;
  const address = temporalAddress(berth);
  const databaseFile = temporalDatabaseFile(state);
  const args = temporalArguments({
    port: portOf(config, 'temporal'),
    uiPort: portOf(config, 'temporalUi'),
    metricsPort: portOf(config, 'temporalMetrics'),
    databaseFile,
  });
  const retention = ['operator', 'namespace', 'update', '--namespace', 'default', '--retention', RETENTION];
  return {
    name: 'temporal',
    startRank: 0,
    stopRank: 2,
    kind: 'program',
    command: [program, ...args],
    env: passedOn(env),
    stopSignal: 'SIGTERM',
    stopSeconds: 20,
    isReady: () => temporalServes(program, address),
    afterReady: async () => void (await temporalCli(program, address, retention)),
    findOrphan: () => findByArgument(databaseFile),
  };
}
