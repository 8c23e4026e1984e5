import { readConfigFile } from '../../platform/config-file.js';
import type { StateDir } from '../../platform/state-dir.js';
import type { Installation } from './installation.js';
import { builtVersion } from './programs.js';
import { ensureSecrets } from './secrets.js';

/** The installation that `berth up` made in this directory. Throws when there is none. */
export function readInstallation(state: StateDir, env: NodeJS.ProcessEnv): Installation {
  const config = readConfigFile(state.configFile);
  if (config === undefined) throw new Error(`nothing was set up in ${state.root}; mend: berth up`);
  return { state, config, secrets: ensureSecrets(state), buildId: builtVersion(), env };
}
