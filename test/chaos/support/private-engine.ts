import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootPrefix, run, which } from '../../../infra/setup/common.mjs';
import { findDocker } from '../../../infra/setup/docker.mjs';
import { BUSYBOX_IMAGE, ensureImages } from '../../../infra/setup/image.mjs';
import { endChild, eventually } from '../../support/process.js';

/** A `dockerd` of the test's own, with the small image: the machine's is shared, and never stopped. */
export interface PrivateEngine {
  readonly host: string;
  readonly socketPath: string;
  /** Ends it with a signal; a SIGTERM lets it stop its containers first. */
  halt(name: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The set-up's helpers read the engine's address from the environment. */
async function onHost<T>(host: string, work: () => Promise<T>): Promise<T> {
  const before = process.env['DOCKER_HOST'];
  process.env['DOCKER_HOST'] = host;
  try {
    return await work();
  } finally {
    if (before === undefined) delete process.env['DOCKER_HOST'];
    else process.env['DOCKER_HOST'] = before;
  }
}

async function commandFor(dir: string): Promise<[string, ...string[]]> {
  const prefix = await rootPrefix();
  const dockerd = which('dockerd', ['/usr/sbin', '/usr/local/sbin']);
  if (prefix === undefined || dockerd === undefined) {
    throw new Error('a private dockerd needs Docker installed, and root or passwordless sudo');
  }
  // In a network of its own: a dockerd without a bridge removes `docker0`, and that is the shared engine's.
  const [program, ...args] = [...prefix, 'unshare', '--net', dockerd];
  const places = ['--data-root', join(dir, 'data'), '--exec-root', join(dir, 'exec'), '--pidfile', join(dir, 'pid')];
  return [program ?? dockerd, ...args, ...places, '-H', `unix://${dir}/s`, '--bridge=none', '--iptables=false'];
}

/** A killed dockerd leaves its data mounted onto itself. */
async function removeRootDirectory(dir: string): Promise<void> {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  const points = mounts.map((line) => line.split(' ')[1] ?? '').filter((point) => point.startsWith(`${dir}/`));
  const asRoot = async (...command: readonly [string, ...string[]]) => {
    const [program = command[0], ...args] = [...((await rootPrefix()) ?? []), ...command];
    await run(program, args);
  };
  for (const point of points.reverse()) await asRoot('umount', '--lazy', point);
  await asRoot('rm', '-rf', dir);
}

export async function startPrivateEngine(): Promise<PrivateEngine> {
  const dir = mkdtempSync(join(tmpdir(), 'berth-dockerd-'));
  const host = `unix://${dir}/s`;
  const [program, ...args] = await commandFor(dir);
  let child: ChildProcess | undefined;
  const start = async () => {
    rmSync(join(dir, 'pid'), { force: true });
    const log = openSync(join(dir, 'log'), 'a');
    child = spawn(program, args, { stdio: ['ignore', log, log] });
    closeSync(log);
    const answers = async () => (await findDocker()) !== undefined;
    await eventually(`dockerd answers (its log: ${dir}/log)`, () => onHost(host, answers), 60);
  };
  const halt = async (name: 'SIGKILL' | 'SIGTERM') => {
    if (child !== undefined) await endChild(child, name);
  };
  await start();
  await onHost(host, () => ensureImages([BUSYBOX_IMAGE]));
  return {
    host,
    socketPath: `${dir}/s`,
    halt,
    start,
    async stop() {
      await halt('SIGTERM');
      await removeRootDirectory(dir);
    },
  };
}
