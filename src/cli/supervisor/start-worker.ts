import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stateDir } from '../../platform/state-dir.js';
import {
  apiEnvironment,
  controlEnvironment,
  gatewayEnvironment,
  nodeEnvironment,
  storageEnvironment,
  type WorkerName,
} from './environments.js';
import type { Installation } from './installation.js';
import { workerArguments } from './programs.js';
import { readInstallation } from './read-installation.js';

const ENVIRONMENTS = {
  control: (berth: Installation) => controlEnvironment(berth),
  node: (berth: Installation) => nodeEnvironment(berth),
  api: apiEnvironment,
  storage: storageEnvironment,
  gateway: gatewayEnvironment,
} as const satisfies Record<WorkerName, (berth: Installation) => Readonly<Record<string, string>>>;

const isOurs = ([name]: [string, string | undefined]): boolean => name.startsWith('BERTH_') || name === 'DATABASE_URL';

/**
 * Runs one more process against a state directory, in the foreground, and returns its exit code. What the environment
 * names itself wins over the directory: another node has a name, token and ports of its own.
 */
export async function startWorker(name: WorkerName, stateRoot: string): Promise<number> {
  const berth = readInstallation(stateDir(stateRoot), process.env);
  const own = Object.fromEntries(Object.entries(process.env).filter(isOurs));
  const env = { ...ENVIRONMENTS[name](berth), ...own, BERTH_STATE: stateRoot };
  const child = spawn(process.execPath, workerArguments(name, env), {
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
