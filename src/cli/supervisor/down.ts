import { signal, waitForEnd } from '../../platform/process-identity.js';
import type { StateDir } from '../../platform/state-dir.js';
import { endLeftovers } from './leftovers.js';
import { endOrphanedEngines } from './orphaned-engines.js';
import { liveRunStatus, readRunStatus } from './run-status.js';

/** Above the sum of all graces: 15 + 25 + 20 + 30 s. */
const SUPERVISOR_SECONDS = 100;

/**
 * Stops API, workers, Temporal and Postgres, in this order, also when the supervisor is gone. Returns one line for each
 * thing it did; none when nothing ran.
 */
export async function down(state: StateDir): Promise<string[]> {
  const lines: string[] = [];
  const live = liveRunStatus(state);
  if (live !== undefined) {
    signal(live.supervisor, 'SIGTERM');
    const hasEnded = await waitForEnd(live.supervisor, SUPERVISOR_SECONDS);
    if (!hasEnded) signal(live.supervisor, 'SIGKILL');
    const children = [...(readRunStatus(state)?.children ?? [])].sort((a, b) => a.stopRank - b.stopRank);
    lines.push(...children.filter((child) => child.state === 'stopped').map(({ name }) => `${name} stopped`));
    lines.push(hasEnded ? 'supervisor stopped' : 'supervisor killed: it did not end by itself');
  }
  const leftovers = await endLeftovers(state);
  lines.push(...leftovers.map(({ name, pid, how }) => `${name} ${how} (pid ${pid}, left by a killed supervisor)`));
  const engines = await endOrphanedEngines(state);
  lines.push(...engines.map((name) => `${name} ended (no supervisor knew of it)`));
  return lines;
}
