import { join } from 'node:path';
import type { ProcessIdentity } from '../../platform/process-identity.js';
import type { ChildSpec } from './child-spec.js';
import { passedOn } from './environments.js';
import type { Installation } from './installation.js';
import { findPostgres } from './orphaned-engines.js';
import { accepts } from './ports.js';
import { findPostgresBinaries, postgresUser } from './postgres-binaries.js';
import { type ClusterPlace, ensureCluster, postgresArguments, readPostmaster } from './postgres-cluster.js';
import { portOf } from './settings.js';

/** A server that outlived its supervisor: alive, of this very folder, on the port we want. */
function findOrphan(dataDir: string, port: number): ProcessIdentity | undefined {
  return readPostmaster(dataDir)?.port === port ? findPostgres(dataDir) : undefined;
}

async function isReady(dataDir: string, port: number): Promise<boolean> {
  return readPostmaster(dataDir)?.isReady === true && (await accepts('127.0.0.1', port));
}

/** The embedded Postgres. SIGINT is its fast shutdown: open transactions are rolled back, nobody is waited for. */
export function postgresChild(berth: Installation): ChildSpec {
  const { config, state, secrets, env } = berth;
  const binaries = findPostgresBinaries(env['BERTH_POSTGRES_BIN'] ? { configured: env['BERTH_POSTGRES_BIN'] } : {});
  const runAs = postgresUser();
  const place: ClusterPlace = { binaries, dataDir: state.postgresDir, runAs };
  const port = portOf(config, 'postgres');
  return {
    name: 'postgres',
    startRank: 0,
    stopRank: 3,
    kind: 'program',
    command: [join(binaries.binDir, 'postgres'), ...postgresArguments(place.dataDir, port)],
    env: passedOn(env),
    ...(runAs === undefined ? {} : { runAs }),
    stopSignal: 'SIGINT',
    stopSeconds: 30,
    prepare: async () => ensureCluster(place, secrets.postgresPassword),
    isReady: () => isReady(place.dataDir, port),
    isLeaving: async () => readPostmaster(place.dataDir)?.isStopping === true,
    findOrphan: () => findOrphan(place.dataDir, port),
  };
}
