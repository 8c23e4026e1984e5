import { readConfigFile } from '../../platform/config-file.js';
import { stateDir, stateDirPath } from '../../platform/state-dir.js';

/** Of the Berth on this machine; undefined where another Temporal server is used, or there is none. */
export function readTemporalUi(env: NodeJS.ProcessEnv): string | undefined {
  if ((env['BERTH_TEMPORAL_ADDRESS'] ?? '') !== '') return undefined;
  const port = readConfigFile(stateDir(stateDirPath(undefined, env)).configFile)?.ports['temporalUi'];
  return port === undefined ? undefined : `http://127.0.0.1:${port}`;
}
