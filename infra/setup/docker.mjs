// Finds a running container engine, or installs and starts Debian's.
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { aptInstall, cacheDir, isMain, main, rootPrefix, SetupError, say, which, withLock } from './common.mjs';

export const DEFAULT_DOCKER_HOST = 'unix:///var/run/docker.sock';

/** Where the engine listens: `DOCKER_HOST`, else the usual socket. */
export const dockerHost = () => process.env.DOCKER_HOST || DEFAULT_DOCKER_HOST;

/** Node's options to reach the engine; only plain sockets and tcp:// (TLS is the product's, not the set-up's). */
function target(host) {
  if (host.startsWith('unix://')) return { socketPath: host.slice('unix://'.length) };
  const url = new URL(host.replace(/^tcp:/, 'http:'));
  return { host: url.hostname, port: url.port || 2375 };
}

/** One call of the engine's HTTP API. `body` is a buffer or a readable stream. Rejects when the engine is not reachable. */
export function engine(method, path, { body, timeoutSeconds = 30, contentType = 'application/json' } = {}) {
  return new Promise((resolve, reject) => {
    const options = { ...target(dockerHost()), method, path, headers: { 'content-type': contentType } };
    const call = request(options, (response) => {
      let text = '';
      response.on('data', (data) => (text += data));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      response.on('error', reject);
    });
    call.setTimeout(timeoutSeconds * 1000, () => call.destroy(new Error('the engine did not answer in time')));
    call.on('error', reject);
    if (body?.pipe !== undefined) body.on('error', reject).pipe(call);
    else call.end(body);
  });
}

/** The engine's version answer; undefined when none answers; throws when there is one that we may not use. */
export async function findDocker() {
  try {
    const { status, text } = await engine('GET', '/version', { timeoutSeconds: 10 });
    if (status !== 200) return undefined;
    const { Version: version, ApiVersion: apiVersion } = JSON.parse(text);
    return { host: dockerHost(), version, apiVersion, how: 'a running engine' };
  } catch (error) {
    if (error.code !== 'EACCES') return undefined;
    throw new SetupError(
      `docker: an engine runs, but this user may not use ${dockerHost()}`,
      'run as root: usermod -aG docker "$USER", and log in again',
    );
  }
}

/** Starts `dockerd` apart from this process, so that it outlives the set-up; its log goes to the cache. */
async function startEngine() {
  const prefix = await rootPrefix();
  if (prefix === undefined) {
    throw new SetupError('docker: no engine is running, and starting one needs root', 'run as root: dockerd &');
  }
  const logFile = join(cacheDir('logs'), 'dockerd.log');
  const log = openSync(logFile, 'a');
  const [program, ...args] = [...prefix, which('dockerd', ['/usr/sbin', '/usr/local/sbin']) ?? 'dockerd'];
  spawn(program, args, { detached: true, stdio: ['ignore', log, log] })
    .on('error', () => {})
    .unref();
  for (let tries = 0; tries < 120; tries++) {
    const found = await findDocker();
    if (found !== undefined) return { ...found, how: `started dockerd, log in ${logFile}` };
    await sleep(500);
  }
  throw new SetupError('docker: dockerd was started but did not answer within a minute', `look into ${logFile}`);
}

/** A running engine, or one that this starts. Set `DOCKER_HOST` to name a remote one: that is never started here. */
export async function ensureDocker() {
  const found = await findDocker();
  if (found !== undefined) return found;
  if (dockerHost() !== DEFAULT_DOCKER_HOST) {
    throw new SetupError('docker: the engine at DOCKER_HOST does not answer', 'start it, or unset DOCKER_HOST');
  }
  return withLock('docker', async () => {
    const again = await findDocker();
    if (again !== undefined) return again;
    if (which('dockerd', ['/usr/sbin', '/usr/local/sbin']) === undefined) {
      await aptInstall('docker.io', 'docker: no container engine is installed');
    }
    return startEngine();
  });
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const got = await ensureDocker();
    say(`docker: engine ${got.version}, API ${got.apiVersion} (${got.how})`);
  });
}
