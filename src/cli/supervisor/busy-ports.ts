import type { ConfigFile } from '../../platform/config-file.js';
import { findByArgument, isRunning } from '../../platform/process-identity.js';
import type { StateDir } from '../../platform/state-dir.js';
import { findPostgres } from './orphaned-engines.js';
import { isPortFree } from './ports.js';
import { readRunStatus } from './run-status.js';
import { temporalDatabaseFile } from './temporal-child.js';

/** Ports that a process of an earlier supervisor may still hold: they are no stranger's. */
function ownPortNames(state: StateDir): ReadonlySet<string> {
  const names = new Set<string>();
  if (findPostgres(state.postgresDir) !== undefined) names.add('postgres');
  if (findByArgument(temporalDatabaseFile(state)) !== undefined) names.add('temporal*');
  for (const child of readRunStatus(state)?.children ?? []) {
    if (child.process === null || !isRunning(child.process)) continue;
    const prefix = child.name.replace('-', ''); // control-1 owns control1Metrics, temporal owns temporalUi
    names.add(`${prefix}*`);
  }
  return names;
}

/** One line, with the mend, for each kept port that somebody else has taken meanwhile. */
export async function busyPorts(state: StateDir, config: ConfigFile): Promise<string[]> {
  const own = [...ownPortNames(state)];
  const isOwn = (name: string) =>
    own.some((pattern) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern));
  const lines: string[] = [];
  for (const [name, port] of Object.entries(config.ports)) {
    if (isOwn(name) || (await isPortFree(port))) continue;
    lines.push(
      `port ${port} (${name}) is taken by another program; mend: end it, or change the port in ${state.configFile}`,
    );
  }
  return lines;
}
