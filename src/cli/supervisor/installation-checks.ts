import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readConfigFile } from '../../platform/config-file.js';
import type { StateDir } from '../../platform/state-dir.js';
import { busyPorts } from './busy-ports.js';
import { type Check, type Finding, fail, ok, warn } from './check.js';
import { liveRunStatus } from './run-status.js';
import { status } from './status.js';

/** More restarts than this since `berth up` are no accident. */
const RESTARTS_WORTH_A_LOOK = 3;

/** Files that only their owner may read. */
function permissions(state: StateDir): Finding {
  if (!existsSync(state.secretsDir)) return ok('nothing set up yet');
  const files = [state.configFile, ...readdirSync(state.secretsDir).map((name) => join(state.secretsDir, name))];
  const open = [state.secretsDir, ...files].filter((file) => existsSync(file) && (statSync(file).mode & 0o077) !== 0);
  if (open.length === 0) return ok(`${state.root}: secrets are private`);
  return fail(`others can read ${open.join(', ')}`, `chmod go= ${open.join(' ')}`);
}

function configuration(state: StateDir): Finding {
  try {
    return readConfigFile(state.configFile) === undefined ? ok('nothing set up yet') : ok(state.configFile);
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error), `mend ${state.configFile}, or remove it`);
  }
}

async function ports(state: StateDir): Promise<Finding> {
  const config = readConfigFile(state.configFile);
  if (config === undefined) return ok('chosen at the first start');
  const [first] = await busyPorts(state, config);
  const [detail = '', mend = ''] = first?.split('; mend: ') ?? [];
  return first === undefined ? ok(`${Object.keys(config.ports).length} ports are free or ours`) : fail(detail, mend);
}

async function processes(state: StateDir): Promise<Finding> {
  const { phase, processes: all } = await status(state);
  if (phase === 'stopped') return ok('Berth does not run');
  if (phase === 'supervisor-lost')
    return fail('the supervisor is gone, some of its processes run', 'berth up, or berth down');
  const sick = all.filter(({ state: now, healthy }) => now !== 'ready' || healthy !== true);
  if (sick.length > 0) {
    const names = sick.map(({ name, state: now, detail }) => `${name} (${now}${detail === '' ? '' : `: ${detail}`})`);
    return fail(names.join(', '), `look into ${state.logsDir}/${sick[0]?.name}.log`);
  }
  const restless = all.filter(({ restarts }) => restarts > RESTARTS_WORTH_A_LOOK);
  if (restless.length === 0) return ok(`${all.length} processes serve`);
  const names = restless.map(({ name, restarts }) => `${name} started again ${restarts} times`);
  return warn(names.join(', '), `look into ${state.logsDir}/${restless[0]?.name}.log`);
}

interface Health {
  readonly parts: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[];
}

/** The API's own view of what it rests on: database, Temporal, and the current version of the workflow code. */
async function parts(state: StateDir): Promise<Finding> {
  const live = liveRunStatus(state);
  const api = live?.urls['api'];
  if (api === undefined) return ok('Berth does not run');
  const key = readFileSync(join(state.secretsDir, 'admin-api-key'), 'utf8').trim();
  try {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${api}/v1/health`, { headers, signal: AbortSignal.timeout(5_000) });
    if (!response.ok) return fail(`the API answers ${response.status}`, `look into ${state.logsDir}/api.log`);
    const sick = ((await response.json()) as Health).parts.filter((part) => !part.ok);
    if (sick.length === 0) return ok('all parts of the API are reachable');
    return fail(sick.map(({ name, detail }) => `${name}: ${detail}`).join('; '), `look into ${state.logsDir}`);
  } catch {
    return fail(`the API does not answer at ${api}`, `look into ${state.logsDir}/api.log`);
  }
}

/** What must hold of this state directory and of what runs on it. */
export const installationChecks = (state: StateDir): readonly Check[] => [
  { name: 'configuration', look: () => configuration(state) },
  { name: 'permissions', look: () => permissions(state) },
  { name: 'ports', look: () => ports(state) },
  { name: 'processes', look: () => processes(state) },
  { name: 'api parts', look: () => parts(state) },
];
