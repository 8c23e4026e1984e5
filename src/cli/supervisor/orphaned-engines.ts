import {
  commandLine,
  findByArgument,
  identify,
  type ProcessIdentity,
  signal,
  waitForEnd,
} from '../../platform/process-identity.js';
import type { StateDir } from '../../platform/state-dir.js';
import { readPostmaster } from './postgres-cluster.js';
import { temporalDatabaseFile } from './temporal-child.js';

/** The Postgres of this directory, alive; undefined when there is none. */
export function findPostgres(dataDir: string): ProcessIdentity | undefined {
  const found = readPostmaster(dataDir);
  return found !== undefined && commandLine(found.pid).includes(dataDir) ? identify(found.pid) : undefined;
}

async function end(
  identity: ProcessIdentity | undefined,
  first: NodeJS.Signals,
  last: NodeJS.Signals,
): Promise<boolean> {
  if (identity === undefined) return false;
  signal(identity, first);
  if (await waitForEnd(identity, 30)) return true;
  signal(identity, last);
  return waitForEnd(identity, 10);
}

/** Ends the engines of this directory that no status file knows. Returns the names of those it ended. */
export async function endOrphanedEngines(state: StateDir): Promise<string[]> {
  const hadTemporal = await end(findByArgument(temporalDatabaseFile(state)), 'SIGTERM', 'SIGKILL');
  const hadPostgres = await end(findPostgres(state.postgresDir), 'SIGINT', 'SIGQUIT');
  return [...(hadTemporal ? ['temporal'] : []), ...(hadPostgres ? ['postgres'] : [])];
}
