import { existsSync, statfsSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, resolve } from 'node:path';
import { type Check, type Finding, fail, ok, warn } from './check.js';
import { accepts } from './ports.js';
import { findPostgresBinaries } from './postgres-binaries.js';
import { temporalServes } from './probes.js';
import { findTemporalProgram } from './programs.js';

const NODE_FLOOR: readonly [number, number] = [20, 19];
/** Engine 20.10, the oldest tried. */
const DOCKER_API_FLOOR = 1.41;
const GIB = 2 ** 30;

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isEnough = major > NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor >= NODE_FLOOR[1]);
  return isEnough ? ok(process.version) : fail(process.version, `install Node ${NODE_FLOOR.join('.')} or newer`);
}

interface EngineVersion {
  readonly Version: string;
  readonly ApiVersion: string;
}

function engineVersion(dockerHost: string): Promise<EngineVersion> {
  const url = dockerHost.startsWith('unix://') ? undefined : new URL(dockerHost.replace(/^tcp:/, 'http:'));
  const target =
    url === undefined
      ? { socketPath: dockerHost.slice('unix://'.length) }
      : { host: url.hostname, port: url.port || 2375 };
  return new Promise((done, reject) => {
    const call = request({ ...target, path: '/version', timeout: 5_000 }, (response) => {
      let text = '';
      response.on('data', (data: Buffer) => (text += data.toString()));
      response.on('end', () => done(JSON.parse(text) as EngineVersion));
    });
    call.on('timeout', () => call.destroy(new Error('no answer within 5 s')));
    call.on('error', reject).end();
  });
}

async function docker(env: NodeJS.ProcessEnv): Promise<Finding> {
  const host = env['DOCKER_HOST'] || 'unix:///var/run/docker.sock';
  try {
    const { Version: version, ApiVersion: api } = await engineVersion(host);
    if (Number(api) >= DOCKER_API_FLOOR) return ok(`engine ${version}, API ${api}`);
    return fail(`engine ${version} speaks API ${api}`, `install an engine with API ${DOCKER_API_FLOOR} or newer`);
  } catch (error) {
    const isDenied = error instanceof Error && 'code' in error && error.code === 'EACCES';
    if (isDenied)
      return fail('this user may not use the engine', 'run as root: usermod -aG docker "$USER"; log in again');
    return fail(`no engine answers at ${host}`, 'node infra/setup/docker.mjs');
  }
}

async function temporal(env: NodeJS.ProcessEnv): Promise<Finding> {
  const address = env['BERTH_TEMPORAL_ADDRESS'];
  if (address) {
    const serves = await temporalServes(undefined, address);
    return serves
      ? ok(`server at ${address}`)
      : fail(`no server at ${address}`, 'start it, or unset BERTH_TEMPORAL_ADDRESS');
  }
  const program = findTemporalProgram(env);
  return program === undefined ? fail('no `temporal` program', 'node infra/setup/temporal.mjs') : ok(program);
}

async function postgres(env: NodeJS.ProcessEnv): Promise<Finding> {
  if (env['DATABASE_URL']) {
    const { hostname, port } = new URL(env['DATABASE_URL']);
    const listens = await accepts(hostname, Number(port || 5432));
    return listens ? ok(`server at ${hostname}`) : fail(`no server at ${hostname}`, 'start it, or unset DATABASE_URL');
  }
  try {
    const { majorVersion, origin } = findPostgresBinaries();
    return ok(`version ${majorVersion} (${origin})`);
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error), 'node infra/setup/postgres.mjs');
  }
}

/** Of the file system that the state directory is, or will be, on. */
function diskSpace(root: string): Finding {
  let dir = resolve(root);
  while (!existsSync(dir)) dir = dirname(dir);
  const { bavail, bsize } = statfsSync(dir);
  const free = `${((Number(bavail) * Number(bsize)) / GIB).toFixed(1)} GiB free`;
  const freeBytes = Number(bavail) * Number(bsize);
  if (freeBytes < GIB) return fail(free, `free space on the disk of ${dir}`);
  return freeBytes < 5 * GIB ? warn(free, `free space on the disk of ${dir}: images and folders need it`) : ok(free);
}

/** A clock before the code was written makes every token and certificate invalid. */
function clock(): Finding {
  const now = new Date();
  const isSane = now.getUTCFullYear() >= 2026;
  return isSane
    ? ok(now.toISOString())
    : fail(`it is ${now.toISOString()}`, 'set the clock (timedatectl set-ntp true)');
}

/** What must hold of the machine, whether Berth runs or not. */
export const machineChecks = (root: string, env: NodeJS.ProcessEnv): readonly Check[] => [
  { name: 'node', look: nodeVersion },
  { name: 'docker', look: () => docker(env) },
  { name: 'temporal', look: () => temporal(env) },
  { name: 'postgres', look: () => postgres(env) },
  { name: 'disk', look: () => diskSpace(root) },
  { name: 'clock', look: clock },
];
