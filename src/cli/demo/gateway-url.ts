import { readConfigFile } from '../../platform/config-file.js';
import { stateDir, stateDirPath } from '../../platform/state-dir.js';
import { usageError } from '../cli-error.js';

/** The one that was given, else this machine's own. Throws a usage error when neither is known. */
export function gatewayUrlOf(given: string | undefined): string {
  if (given !== undefined) return given;
  const port = readConfigFile(stateDir(stateDirPath(undefined, process.env)).configFile)?.ports['gateway'];
  if (port === undefined) throw usageError('where the gateway is, is not known', '--gateway http://HOST:PORT');
  return `http://127.0.0.1:${port}`;
}
