import { type ChildProcess, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { findPostgresBinaries, postgresUser } from '../../src/cli/supervisor/postgres-binaries.js';
import {
  type ClusterPlace,
  connectionUrl,
  ensureCluster,
  postgresArguments,
  readPostmaster,
} from '../../src/cli/supervisor/postgres-cluster.js';
import { endChild, eventually, freePort, spawnTied } from './process.js';

const PASSWORD = 'test';
/** Without syncs: tests kill processes, never the machine. A commit still outlives `kill()`. */
const SETTINGS = { fsync: 'off', full_page_writes: 'off' };

export interface TestPostgres {
  /** Of the database `berth`. */
  readonly url: string;
  readonly majorVersion: number;
  /** A fresh, empty database on this server. */
  createDatabase(): Promise<string>;
  /** Stops with open transactions rolled back, and starts again on the same port and data. */
  restart(): Promise<void>;
  /** `kill -9` of the whole server, as a power cut would; `start()` recovers it. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

/** Initdb'ed once a machine and version, then copied. `BERTH_TEST_POSTGRES=system` takes Debian's server. */
function templatePlace(): ClusterPlace {
  const wantsSystem = process.env['BERTH_TEST_POSTGRES'] === 'system';
  const binaries = findPostgresBinaries(wantsSystem ? { only: 'system' } : {});
  const base = join(tmpdir(), `berth-test-pg-template-${process.getuid?.() ?? 0}`);
  mkdirSync(base, { recursive: true, mode: 0o755 });
  return { binaries, dataDir: join(base, `v${binaries.majorVersion}`), runAs: postgresUser() };
}

/** Safe with other test processes: each makes its own, the first to rename wins. */
function ensureTemplate(place: ClusterPlace): void {
  if (existsSync(join(place.dataDir, 'PG_VERSION'))) return;
  const own = `${place.dataDir}.${process.pid}`;
  ensureCluster({ ...place, dataDir: own }, PASSWORD);
  try {
    renameSync(own, place.dataDir);
  } catch {
    rmSync(own, { recursive: true, force: true });
  }
}

/** Data folders of test processes that were killed. */
function sweepLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = /^berth-test-pg-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) {
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
    }
  }
}

async function startServer(place: ClusterPlace, port: number): Promise<ChildProcess> {
  rmSync(join(place.dataDir, 'postmaster.pid'), { force: true });
  const program = join(place.binaries.binDir, 'postgres');
  const child = spawnTied(program, postgresArguments(place.dataDir, port, SETTINGS), { ...place.runAs, cwd: '/' });
  await eventually('Postgres accepts connections', () => {
    if (child.exitCode !== null) throw new Error(`Postgres ended with ${child.exitCode}`);
    return readPostmaster(place.dataDir)?.isReady === true;
  });
  return child;
}

/** Backends outlive a killed postmaster for a moment; the next start must not meet them. */
async function killServer(child: ChildProcess): Promise<void> {
  const backends = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ');
  await endChild(child, 'SIGKILL');
  await eventually('the backends are gone', () => !backends.some((pid) => pid !== '' && existsSync(`/proc/${pid}`)));
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** A real Postgres of this test's own, started in about 0.2 s from a copied cluster. */
export async function startTestPostgres(): Promise<TestPostgres> {
  const template = templatePlace();
  ensureTemplate(template);
  sweepLeftovers();
  const dataDir = join(tmpdir(), `berth-test-pg-${process.pid}-${randomBytes(4).toString('hex')}`);
  cloneTree(template.dataDir, dataDir);
  const place = { ...template, dataDir };
  const port = await freePort();
  const url = connectionUrl(port, PASSWORD);
  let child = await startServer(place, port);
  const start = async () => {
    child = await startServer(place, port);
  };
  return {
    url,
    majorVersion: place.binaries.majorVersion,
    createDatabase: async () => {
      const name = `t_${randomBytes(6).toString('hex')}`;
      await execute(url, `CREATE DATABASE ${name}`);
      return url.replace(/\/berth$/, `/${name}`);
    },
    start,
    kill: () => killServer(child),
    restart: async () => {
      await endChild(child, 'SIGINT');
      await start();
    },
    stop: async () => {
      await endChild(child, 'SIGQUIT');
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** `cp -a`: owner and mode matter to Postgres, and Node's own copy keeps neither. */
function cloneTree(from: string, to: string): void {
  const done = spawnSync('cp', ['-a', '--reflink=auto', from, to], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`cp failed: ${done.stderr}`);
}

let shared: Promise<TestPostgres> | undefined;

/** One server a test process, started at first use; it ends with the process. */
export const sharedTestPostgres = (): Promise<TestPostgres> => (shared ??= startTestPostgres());

/** The URL of a fresh, empty database on the shared server. */
export async function createDatabase(): Promise<string> {
  return (await sharedTestPostgres()).createDatabase();
}
