import type Docker from 'dockerode';
import { hasStatus } from './engine-error.js';
import { asFailure } from './failures.js';

/** Of all processes in the container, numbered as on the engine's machine (not as inside). A container that does not run has none. */
export async function processIds(docker: Docker, name: string): Promise<readonly number[]> {
  return asFailure(async () => {
    try {
      const { Titles, Processes } = (await docker.getContainer(name).top({ ps_args: '-eo pid' })) as Top;
      const column = Titles.indexOf('PID');
      return Processes.map((row) => Number(row[column])).filter((pid) => Number.isInteger(pid) && pid > 0);
    } catch (error) {
      if (hasStatus(error, 404, 409, 500)) return [];
      throw error;
    }
  });
}

interface Top {
  readonly Titles: readonly string[];
  readonly Processes: readonly (readonly string[])[];
}
