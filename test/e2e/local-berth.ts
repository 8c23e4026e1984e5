import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { cacheDir } from '../../infra/setup/common.mjs';
import type { ConfigFile } from '../../src/platform/config-file.js';

const DIST = join(import.meta.dirname, '..', '..', 'dist');
const PROGRAM = join(DIST, 'berth.js');
const GIB = 2 ** 30;

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}
export interface LocalBerth {
  readonly directory: string;
  /** The command line, against this Berth. */
  readonly run: (...args: readonly string[]) => Promise<Ran>;
  /** What `npm run quickstart` does once Berth is up. */
  readonly quickstart: () => Promise<Ran>;
  readonly remove: () => Promise<void>;
}

export interface MoreOfBerth {
  /** Of each node; 4 of 24 GiB that are given out whole when omitted. */
  readonly simulatedGpus?: ConfigFile['node']['simulatedGpus'];
  /** That each node shares out; 4 GiB when omitted. */
  readonly memoryBytes?: number;
  /** Variables that `berth up` passes on. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * `berth up` in a directory of its own, with nodes of 4 CPU and 4 simulated GPUs each. The first node has a name of its own, since two agents of one
 * name and engine exclude each other.
 */
export async function startBerth(name: string, nodes = 1, more: MoreOfBerth = {}): Promise<LocalBerth> {
  const directory = mkdtempSync(join(tmpdir(), 'berth-e2e-'));
  chmodSync(directory, 0o755);
  const node = {
    name: `${name}-${process.pid}`,
    group: 'default',
    count: nodes,
    cpus: 4,
    memoryBytes: more.memoryBytes ?? 4 * GIB,
    simulatedGpus: more.simulatedGpus ?? [{ model: 'simulated', memoryBytes: 24 * GIB, count: 4 }],
  };
  writeFileSync(join(directory, 'config.yaml'), stringify({ version: 1, ports: {}, controlWorkers: 1, node }));
  const isolated = { BERTH_STATE: directory, BERTH_URL: '', BERTH_TOKEN: '', HOME: directory, BERTH_CACHE: cacheDir() };
  const env = { ...process.env, ...more.env, ...isolated };
  const run = (...args: readonly string[]): Promise<Ran> => runProgram([PROGRAM, ...args], { env, cwd: directory });
  const quickstart = (): Promise<Ran> => runProgram([join(DIST, 'quickstart.js')], { env, cwd: directory });
  const remove = async (): Promise<void> => {
    await run('down');
    rmSync(directory, { recursive: true, force: true });
  };
  const up = await run('up', '--state', directory, '--timeout', '180');
  if (up.code === 0) return { directory, run, quickstart, remove };
  await remove();
  throw new Error(`berth did not come up: ${up.stderr}`);
}

function runProgram(
  args: readonly string[],
  options: { readonly env: NodeJS.ProcessEnv; readonly cwd: string },
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.on('error', reject);
    child.on('exit', (code) => resolve({ code, stdout, stderr }));
  });
}
