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

/** Asks the API with the first admin's key; throws when it does not answer. */
async function askApi(state: StateDir, api: string, path: string): Promise<unknown> {
  const key = readFileSync(join(state.secretsDir, 'admin-api-key'), 'utf8').trim();
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${api}${path}`, { headers, signal: AbortSignal.timeout(5_000) });
  if (!response.ok) throw new Error(`the API answers ${response.status} to ${path}`);
  return response.json();
}

interface Health {
  readonly parts: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[];
}

/** The API's own view of what it rests on. */
async function parts(state: StateDir): Promise<Finding> {
  const api = liveRunStatus(state)?.urls['api'];
  if (api === undefined) return ok('Berth does not run');
  try {
    const sick = ((await askApi(state, api, '/v1/health')) as Health).parts.filter((part) => !part.ok);
    if (sick.length === 0) return ok('all parts of the API are reachable');
    return fail(sick.map(({ name, detail }) => `${name}: ${detail}`).join('; '), `look into ${state.logsDir}`);
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error), `look into ${state.logsDir}/api.log`);
  }
}

interface Nodes {
  readonly items: readonly { readonly name: string; readonly state: string }[];
}

/** An agent that runs and is refused looks healthy from outside; what counts is that the ledger calls it READY. */
async function nodes(state: StateDir): Promise<Finding> {
  const api = liveRunStatus(state)?.urls['api'];
  if (api === undefined) return ok('Berth does not run');
  const { items } = (await askApi(state, api, '/v1/nodes')) as Nodes;
  const away = items.filter((node) => node.state === 'REGISTERED' || node.state === 'LOST');
  if (items.length === 0) return warn('there is no node: nothing can run', `look into ${state.logsDir}/node.log`);
  if (away.length === 0) return ok(items.map(({ name, state: now }) => `${name} ${now}`).join(', '));
  return fail(
    away.map(({ name, state: now }) => `${name} is ${now}`).join(', '),
    `look into ${state.logsDir}/node.log`,
  );
}

/** What must hold of this state directory and of what runs on it. */
export const installationChecks = (state: StateDir): readonly Check[] => [
  { name: 'configuration', look: () => configuration(state) },
  { name: 'permissions', look: () => permissions(state) },
  { name: 'ports', look: () => ports(state) },
  { name: 'processes', look: () => processes(state) },
  { name: 'api parts', look: () => parts(state) },
  { name: 'nodes', look: () => nodes(state) },
];
