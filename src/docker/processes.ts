import type Docker from 'dockerode';
import { hasStatus } from './engine-error.js';
import { asFailure } from './failures.js';

/** Of all processes in the container, numbered as on the engine's machine (not as inside). A container that does not run has none. */
export async function processIds(docker: Docker, name: string): Promise<readonly number[]> {
  return asFailure(async () => {
    try {
      const { Titles, Processes } = (await docker.getContainer(name).top({ ps_args: '-eo pid' })) as Top;
      const column = Titles.indexOf('PID');
      return (Processes ?? []).map((row) => Number(row[column])).filter((pid) => Number.isInteger(pid) && pid > 0);
    } catch (error) {
      if (hasStatus(error, 404, 409, 500)) return [];
      throw error;
    }
  });
}

/**
 * Whether its init has come to run the command, or is over. Until then init and what it has forked have the same arguments, or
 * nothing is there yet.
 */
export async function hasBegun(docker: Docker, name: string): Promise<boolean> {
  return asFailure(async () => {
    try {
      const { Titles, Processes } = (await docker.getContainer(name).top({ ps_args: '-eo pid,args' })) as Top;
      const [init, ...others] = (Processes ?? []).map((row) => row.slice(Titles.indexOf('PID') + 1).join(' '));
      return others.some((args) => args !== init);
    } catch (error) {
      if (hasStatus(error, 404, 409, 500)) return true;
      throw error;
    }
  });
}

interface Top {
  readonly Titles: readonly string[];
  /** null: none. */
  readonly Processes: readonly (readonly string[])[] | null;
}
