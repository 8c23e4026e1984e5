import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** All that `berth up` keeps, in one directory: remove it, and Berth was never here (but for its containers). */
export interface StateDir {
  readonly root: string;
  /** Ports, sizes and counts chosen at the first start; mode 0600. */
  readonly configFile: string;
  readonly postgresDir: string;
  readonly temporalDir: string;
  readonly volumesDir: string;
  readonly nodesDir: string;
  readonly logsDir: string;
  /** Who runs now: supervisor, children, their restarts. */
  readonly runDir: string;
  /** Mode 0700, its files 0600. */
  readonly secretsDir: string;
}

/** Mode of a folder: the root and `volumes` must be passable, Postgres and containers are other users. */
const MODES = {
  root: 0o755,
  volumesDir: 0o755,
  temporalDir: 0o700,
  nodesDir: 0o755,
  logsDir: 0o700,
  runDir: 0o700,
  secretsDir: 0o700,
} as const;

/** True when other users may pass through every folder on the way to `path`. */
export function isPassableForOthers(path: string): boolean {
  for (let dir = resolve(path); ; dir = dirname(dir)) {
    if (existsSync(dir) && (statSync(dir).mode & 0o001) === 0) return false;
    if (dir === dirname(dir)) return true;
  }
}

/**
 * `--state`, else `BERTH_STATE`, else `~/.berth`; for root with a closed home `/var/lib/berth`, since the user
 * postgres could not reach a cluster in there.
 */
export function stateDirPath(option: string | undefined, env: NodeJS.ProcessEnv): string {
  const chosen = option ?? env['BERTH_STATE'];
  if (chosen !== undefined && chosen !== '') return resolve(chosen);
  const isClosedRoot = process.getuid?.() === 0 && !isPassableForOthers(homedir());
  return isClosedRoot ? '/var/lib/berth' : join(homedir(), '.berth');
}

export function stateDir(root: string): StateDir {
  return {
    root,
    configFile: join(root, 'config.yaml'),
    postgresDir: join(root, 'postgres'),
    temporalDir: join(root, 'temporal'),
    volumesDir: join(root, 'volumes'),
    nodesDir: join(root, 'nodes'),
    logsDir: join(root, 'logs'),
    runDir: join(root, 'run'),
    secretsDir: join(root, 'secrets'),
  };
}

/** Makes the folders with their modes; a second run repairs the modes. */
export function ensureStateDir(root: string): StateDir {
  const dir = stateDir(root);
  for (const [name, mode] of Object.entries(MODES)) {
    const path = dir[name as keyof typeof MODES];
    mkdirSync(path, { recursive: true, mode });
    chmodSync(path, mode);
  }
  return dir;
}

/** Readers see the old content or the new one, never half. Mode 0600. */
export function writePrivateFile(file: string, content: string): void {
  const partial = `${file}.${process.pid}`;
  writeFileSync(partial, content, { mode: 0o600 });
  renameSync(partial, file);
}

/** The file's content; where there is none, `make()` is written first. Two first starts at once: the supervisor's lock. */
export function ensurePrivateFile(file: string, make: () => string): string {
  if (!existsSync(file)) writePrivateFile(file, make());
  return readFileSync(file, 'utf8');
}
