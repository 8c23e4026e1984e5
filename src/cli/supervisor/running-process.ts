import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, renameSync, statSync } from 'node:fs';
import { identify, isRunning, type ProcessIdentity, signal } from '../../platform/process-identity.js';
import type { ChildSpec } from './child-spec.js';

/** A life of one process, spawned or taken over. */
export interface RunningProcess {
  readonly identity: ProcessIdentity;
  readonly isAdopted: boolean;
  /** Resolves, never rejects, with how it ended. */
  readonly ended: Promise<string>;
  send(name: NodeJS.Signals): void;
}

const LOG_BYTES_MAX = 20 * 2 ** 20;
const ADOPTED_POLL_MS = 200;

/** Appends; a log over 20 MiB is put aside first, one generation. */
function openLog(file: string): number {
  if (existsSync(file) && statSync(file).size > LOG_BYTES_MAX) renameSync(file, `${file}.1`);
  return openSync(file, 'a', 0o600);
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`could not start: ${error.message}`));
    child.once('exit', (code, name) => resolve(name === null ? `ended with code ${code}` : `killed by ${name}`));
  });
}

/** Starts the process in a group of its own: Ctrl-C reaches the supervisor alone, which stops the others in order. */
export async function spawnProcess(spec: ChildSpec, logFile: string): Promise<RunningProcess> {
  const log = openLog(logFile);
  const [program, ...args] = spec.command;
  const child = spawn(program, args, {
    ...spec.runAs,
    env: spec.env,
    cwd: '/',
    detached: true,
    stdio: ['ignore', log, log, ...(spec.kind === 'node' ? (['ipc'] as const) : [])],
  });
  closeSync(log);
  const ended = endOf(child);
  const identity = child.pid === undefined ? undefined : identify(child.pid);
  if (identity === undefined) throw new Error(await ended);
  return { identity, isAdopted: false, ended, send: (name) => void child.kill(name) };
}

/** Takes over a process that is no child of ours: its end is seen by looking, its exit code is not to be had. */
export function adoptProcess(identity: ProcessIdentity): RunningProcess {
  const ended = new Promise<string>((resolve) => {
    const timer = setInterval(() => {
      if (isRunning(identity)) return;
      clearInterval(timer);
      resolve('ended (taken over: exit code unknown)');
    }, ADOPTED_POLL_MS);
  });
  return { identity, isAdopted: true, ended, send: (name) => signal(identity, name) };
}
