import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { WorkerName } from './environments.js';

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The first program of that name on PATH, then in `more` folders. */
export function which(name: string, more: readonly string[] = []): string | undefined {
  const dirs = [...(process.env['PATH'] ?? '').split(delimiter), ...more];
  return dirs.map((dir) => join(dir === '' ? '.' : dir, name)).find(isProgram);
}

/** Temporal's program, in the order of the set-up: PATH, the set-up's cache, Go's programs folder. */
export function findTemporalProgram(env: NodeJS.ProcessEnv): string | undefined {
  const cache = env['BERTH_CACHE'] ?? join(homedir(), '.cache', 'berth');
  const go = env['GOBIN'] ?? join(env['GOPATH'] ?? join(homedir(), 'go'), 'bin');
  return which('temporal', [join(cache, 'bin'), go]);
}

/** The project's (or the installed package's) folder: the one above this file that holds Berth's package.json. */
export function packageRoot(): string {
  for (let dir = import.meta.dirname; dir !== dirname(dir); dir = dirname(dir)) {
    const file = join(dir, 'package.json');
    if (existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as { name?: unknown }).name === 'berth') return dir;
  }
  throw new Error('package.json of Berth was not found above the program');
}

/** A built program of `dist`; throws with the mend when it is not built. */
export function builtProgram(name: string): string {
  const file = join(packageRoot(), 'dist', name);
  if (existsSync(file)) return file;
  throw new Error(`dist/${name} is not built; mend: npm run build`);
}

/** Version of the built workflow code. */
export function builtVersion(): string {
  const file = builtProgram('build.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { buildId: string }).buildId;
}

/**
 * Of the heap of a control worker, MiB for each of its two isolates. Node goes by the memory of the machine and collects late there: with
 * 1200 open workflows it took 850 MiB on 24 GiB, and 510 with this, no slower.
 */
const CONTROL_HEAP_MIB = 1024;

/** A heap that `NODE_OPTIONS` names wins. */
export function heapArguments(program: WorkerName, env: Readonly<Record<string, string | undefined>>): string[] {
  const isNamed = env['NODE_OPTIONS']?.includes('max-old-space-size') === true;
  return program === 'control' && !isNamed ? [`--max-old-space-size=${CONTROL_HEAP_MIB}`] : [];
}

/** Arguments for Node, with the built worker as the last. */
export const workerArguments = (program: WorkerName, env: Readonly<Record<string, string | undefined>>): string[] => [
  '--enable-source-maps',
  ...heapArguments(program, env),
  builtProgram(`workers/${program}.js`),
];
