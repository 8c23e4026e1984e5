import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { PostgresBinaries, RunAs } from './postgres-binaries.js';

export interface ClusterPlace {
  readonly binaries: PostgresBinaries;
  readonly dataDir: string;
  readonly runAs: RunAs | undefined;
}

/** What `postmaster.pid` says; its eighth line is what pg_ctl itself waits for. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly isReady: boolean;
  /** Of all its ways to end, a smart shutdown takes as long as the last client stays. */
  readonly isStopping: boolean;
}

const localeFlags = (majorVersion: number): string[] =>
  majorVersion >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : ['--locale=C.UTF-8'];

function runProgram(place: ClusterPlace, [program, ...args]: readonly [string, ...string[]], input = ''): void {
  const done = spawnSync(join(place.binaries.binDir, program), args, {
    ...place.runAs,
    input,
    encoding: 'utf8',
    cwd: '/',
    timeout: 120_000,
    env: { PATH: process.env['PATH'], LC_ALL: 'C' },
  });
  if (done.status === 0) return;
  const reason = done.error?.message ?? done.stderr.trim().split('\n').slice(-3).join(' | ');
  throw new Error(`${program} failed (${done.status ?? done.signal ?? 'not started'}): ${reason}`);
}

/** Writes the password where initdb's user, and nobody else, reads it; gone when `use` returns. */
function withPasswordFile(place: ClusterPlace, password: string, use: (file: string) => void): void {
  const dir = mkdtempSync(join(tmpdir(), 'berth-pg-'));
  const file = join(dir, 'password');
  try {
    writeFileSync(file, `${password}\n`, { mode: 0o600 });
    if (place.runAs !== undefined) {
      for (const path of [dir, file]) chownSync(path, place.runAs.uid, place.runAs.gid);
    }
    use(file);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/**
 * Makes a cluster with the superuser `berth` and a database of that name. An existing one is left as it is; one that
 * a kill left half made never got its name, and is made anew.
 */
export function ensureCluster(place: ClusterPlace, password: string): void {
  if (existsSync(join(place.dataDir, 'PG_VERSION'))) return;
  const parent = dirname(place.dataDir);
  const partial = `${place.dataDir}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(parent, { recursive: true });
  mkdirSync(partial, { mode: 0o700 });
  if (place.runAs !== undefined) chownSync(partial, place.runAs.uid, place.runAs.gid);
  withPasswordFile(place, password, (file) => {
    const flags = ['--no-sync', '--encoding=UTF8', ...localeFlags(place.binaries.majorVersion)];
    const access = ['-U', 'berth', '-A', 'scram-sha-256', `--pwfile=${file}`];
    runProgram(place, ['initdb', '-D', partial, ...access, ...flags]);
  });
  runProgram(place, ['postgres', '--single', '-D', partial, 'postgres'], 'CREATE DATABASE berth;\n');
  chmodSync(partial, 0o700);
  renameSync(partial, place.dataDir);
}

/** The server's command line. TCP on the loopback only: a socket folder would need the postgres user's rights. */
export function postgresArguments(
  dataDir: string,
  port: number,
  settings: Readonly<Record<string, string>> = {},
): string[] {
  const all = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    ...settings,
  };
  return [
    '-D',
    dataDir,
    '-p',
    String(port),
    ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}

export const connectionUrl = (port: number, password: string): string =>
  `postgres://berth:${encodeURIComponent(password)}@127.0.0.1:${port}/berth`;

/** The server that holds this folder, alive or not: the caller checks the pid. */
export function readPostmaster(dataDir: string): Postmaster | undefined {
  const file = join(dataDir, 'postmaster.pid');
  if (!existsSync(file)) return undefined;
  const lines = readFileSync(file, 'utf8').split('\n');
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  const status = lines[7]?.trim();
  return { pid, port: Number(lines[3] ?? 0), isReady: status === 'ready', isStopping: status === 'stopping' };
}
