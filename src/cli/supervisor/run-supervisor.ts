import { createLogger } from '../../platform/log.js';
import { onEnd } from '../../platform/process-end.js';
import { stateDir } from '../../platform/state-dir.js';
import { berthChildren } from './berth-children.js';
import { urlsOf } from './installation.js';
import { readInstallation } from './read-installation.js';
import { supervise } from './supervise.js';

/** Above the sum of the children's graces. */
const STOP_SECONDS_MAX = 95;

/** The supervisor's process: never returns; throws at once when its children's programs are missing. */
export async function runSupervisor(stateRoot: string): Promise<never> {
  const log = createLogger({ process: 'supervisor', level: process.env['BERTH_LOG_LEVEL'] ?? 'info' });
  const state = stateDir(stateRoot);
  const berth = readInstallation(state, process.env);
  const supervisor = await supervise(berthChildren(berth), { state, urls: urlsOf(berth), log });
  onEnd(() => supervisor.stop(), STOP_SECONDS_MAX);
  return new Promise<never>(() => undefined); // `onEnd` exits
}
