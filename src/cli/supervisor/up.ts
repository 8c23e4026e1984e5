import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { identify, isRunning } from '../../platform/process-identity.js';
import { ensureStateDir, isPassableForOthers, type StateDir } from '../../platform/state-dir.js';
import { busyPorts } from './busy-ports.js';
import type { ChildStatus } from './child-spec.js';
import { withProcessLock } from './process-lock.js';
import { builtProgram } from './programs.js';
import { liveRunStatus, type RunStatus } from './run-status.js';
import { settle, type UpFlags } from './settings.js';
import { logFileOf } from './supervise.js';

export interface UpOptions {
  readonly stateRoot: string;
  readonly flags: UpFlags;
  /** False for a directory of one's own: several may then start at once, and none gets the usual ports. */
  readonly wantsUsualPorts: boolean;
  readonly timeoutSeconds: number;
  /** Command line of the supervisor without its state; the built program when unset. */
  readonly supervisorCommand?: readonly [string, ...string[]];
  onProgress(line: string): void;
}

export type UpOutcome =
  | { readonly kind: 'started' | 'already-running'; readonly status: RunStatus }
  | { readonly kind: 'failed'; readonly problem: string };

const LOG_LINES_SHOWN = 5;

/** The last lines of a process's log, for a message about its failure. */
function logTail(state: StateDir, name: string): string {
  const file = logFileOf(state, name);
  if (!existsSync(file)) return '';
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LOG_LINES_SHOWN);
  return lines.map((line) => `    ${line.slice(0, 400)}`).join('\n');
}

function describeUnready(state: StateDir, children: readonly ChildStatus[]): string {
  const late = children.filter((child) => child.state !== 'ready');
  return late
    .map((child) => `  ${child.name}: ${child.state} ${child.detail}\n${logTail(state, child.name)}`)
    .join('\n');
}

/** Outlives this command: its own session, its output in a file. */
function launch(state: StateDir, command: readonly [string, ...string[]]): number | undefined {
  const log = openSync(logFileOf(state, 'supervisor'), 'a', 0o600);
  const [program, ...args] = command;
  const child = spawn(program, [...args, '--state', state.root], {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: '/',
  });
  closeSync(log);
  child.on('error', () => undefined);
  child.unref();
  return child.pid;
}

async function waitUntilReady(state: StateDir, pid: number | undefined, options: UpOptions): Promise<UpOutcome> {
  const launched = pid === undefined ? undefined : identify(pid);
  const deadline = performance.now() + options.timeoutSeconds * 1000;
  const seen = new Set<string>();
  while (performance.now() < deadline) {
    const status = liveRunStatus(state);
    for (const child of status?.children ?? []) {
      if (child.state !== 'ready' || seen.has(child.name)) continue;
      seen.add(child.name);
      options.onProgress(`${child.name} is ready${child.isAdopted ? ' (taken over)' : ''}`);
    }
    if (status?.phase === 'ready') return { kind: 'started', status };
    if (launched === undefined || !isRunning(launched)) {
      return { kind: 'failed', problem: `the supervisor ended:\n${logTail(state, 'supervisor')}` };
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const problem = `not ready within ${options.timeoutSeconds} s; the supervisor goes on trying:`;
  return { kind: 'failed', problem: `${problem}\n${describeUnready(state, liveRunStatus(state)?.children ?? [])}` };
}

/** One `up` at a time: a second one waits, and then finds it running. */
async function upAlone(state: StateDir, options: UpOptions): Promise<UpOutcome> {
  const running = liveRunStatus(state);
  if (running !== undefined && running.phase !== 'stopped') {
    const outcome = await waitUntilReady(state, running.supervisor.pid, options);
    return outcome.kind === 'started' ? { ...outcome, kind: 'already-running' } : outcome;
  }
  const config = await settle(state, options.flags, options.wantsUsualPorts);
  const busy = await busyPorts(state, config);
  if (busy.length > 0) return { kind: 'failed', problem: busy.join('\n') };
  const command = options.supervisorCommand ?? [process.execPath, builtProgram('berth.js'), 'supervise'];
  return waitUntilReady(state, launch(state, command), options);
}

/**
 * Starts Berth on this machine and waits until every process serves. A second `up` finds the first one running and
 * changes nothing; after a `kill -9` it takes over or restarts what is left.
 */
export async function up(options: UpOptions): Promise<UpOutcome> {
  if (process.getuid?.() === 0 && !isPassableForOthers(dirname(resolve(options.stateRoot)))) {
    const problem = `${options.stateRoot} lies in a folder closed to others, and the user postgres could not reach it`;
    return { kind: 'failed', problem: `${problem}; mend: berth up --state /var/lib/berth` };
  }
  const state = ensureStateDir(options.stateRoot);
  const lock = join(state.runDir, 'up.lock');
  return withProcessLock(lock, options.timeoutSeconds, () => upAlone(state, options));
}
