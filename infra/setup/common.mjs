// What every set-up script shares. Plain Node, no packages: it runs before `npm ci`.
import { spawn } from 'node:child_process';
import { accessSync, constants, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const PROJECT_ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Something the machine lacks: `message` says what, `mend` the one thing to do about it. */
export class SetupError extends Error {
  constructor(message, mend) {
    super(`${message}\n  mend: ${mend}`);
    this.name = 'SetupError';
    this.mend = mend;
  }
}

/** Where downloads and built things are kept between runs: `BERTH_CACHE`, else `~/.cache/berth`. */
export function cacheDir(...parts) {
  const base = process.env.BERTH_CACHE || join(homedir(), '.cache', 'berth');
  const dir = join(base, ...parts);
  mkdirSync(dir, { recursive: true });
  return dir;
}

/** One line to stderr, so that stdout stays a program's own answer. */
export const say = (line) => process.stderr.write(`${line}\n`);

export const isRoot = () => process.getuid?.() === 0;

/** True when `script` (its `import.meta.url`) is the program that was started. */
export const isMain = (script) => process.argv[1] !== undefined && fileURLToPath(script) === process.argv[1];

/** The first executable `name` on PATH or in `more` folders; undefined when there is none. */
export function which(name, more = []) {
  for (const dir of [...(process.env.PATH ?? '').split(delimiter), ...more]) {
    if (dir !== '' && isExecutable(join(dir, name))) return join(dir, name);
  }
  return undefined;
}

export function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Runs a program to its end. Never throws for a failing one: read `code` (-1: could not start, 124: out of time). */
export function run(command, args, { timeoutSeconds = 600, env = {}, input, cwd } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env: { ...process.env, ...env }, cwd, stdio: ['pipe', 'pipe', 'pipe'] });
    const chunks = { stdout: '', stderr: '' };
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      child.kill('SIGKILL');
    }, timeoutSeconds * 1000);
    child.stdout.on('data', (data) => (chunks.stdout += data));
    child.stderr.on('data', (data) => (chunks.stderr += data));
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.on('error', (error) => {
      clearTimeout(timer);
      resolve({ code: -1, ...chunks, stderr: error.message });
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code: late ? 124 : (code ?? -1), ...chunks });
    });
  });
}

/** The prefix that makes a command run as root: none as root, `sudo -n` where it asks no password, else undefined. */
export async function rootPrefix() {
  if (isRoot()) return [];
  const sudo = which('sudo');
  if (sudo === undefined) return undefined;
  return (await run(sudo, ['-n', 'true'], { timeoutSeconds: 10 })).code === 0 ? [sudo, '-n'] : undefined;
}

/** Runs a command as root, or says which one somebody else has to run. */
export async function runAsRoot(command, { timeoutSeconds = 600, needs }) {
  const prefix = await rootPrefix();
  if (prefix === undefined) throw new SetupError(needs, `run as root: ${command.join(' ')}`);
  const [program, ...args] = [...prefix, ...command];
  const done = await run(program, args, { timeoutSeconds, env: { DEBIAN_FRONTEND: 'noninteractive' } });
  if (done.code !== 0) {
    const last = (done.stderr || done.stdout).trim().split('\n').slice(-3).join(' | ');
    throw new SetupError(
      `${needs}; "${command.join(' ')}" ended with ${done.code}: ${last}`,
      'run it by hand and look',
    );
  }
  return done;
}

/** Installs a Debian package, refreshing the lists once when it is not known. */
export async function aptInstall(name, needs) {
  if (which('apt-get') === undefined) throw new SetupError(needs, `install the equivalent of Debian's ${name}`);
  const install = ['apt-get', 'install', '-y', '--no-install-recommends', name];
  try {
    return await runAsRoot(install, { needs });
  } catch (error) {
    if ((await rootPrefix()) === undefined) throw error;
    await runAsRoot(['apt-get', 'update'], { needs });
    return runAsRoot(install, { needs });
  }
}

const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
};

/** A lock whose owner died is nobody's. */
function isStale(file) {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    if (Number.isInteger(pid) && pid > 0) return !isAlive(pid);
    return Date.now() - statSync(file).mtimeMs > 5_000; // created, but its owner died before it signed
  } catch {
    return false; // gone meanwhile: the next try takes it
  }
}

function tryLock(file) {
  try {
    writeSync(openSync(file, 'wx'), String(process.pid));
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (isStale(file)) rmSync(file, { force: true });
    return false;
  }
}

/** One process at a time does `work`; others wait, and then find it done. */
export async function withLock(name, work, waitSeconds = 900) {
  const file = join(cacheDir(), `${name}.lock`);
  const deadline = Date.now() + waitSeconds * 1000;
  while (!tryLock(file)) {
    if (Date.now() > deadline) throw new SetupError(`another set-up has held ${file} too long`, `remove ${file}`);
    await sleep(200);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** Runs a script's own command line: its line of result, or what is missing and exit code 1. */
export async function main(work) {
  try {
    await work();
  } catch (error) {
    say(error instanceof SetupError ? error.message : (error.stack ?? String(error)));
    process.exitCode = 1;
  }
}
