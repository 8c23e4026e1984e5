import type Docker from 'dockerode';
import type { ContainerState } from './container-state.js';
import { hasStatus } from './engine-error.js';
import { ContainerFailure, classify } from './failures.js';
import { inspect } from './inspect.js';
import { logs } from './logs.js';
import { isAmbiguous } from './networks.js';

/**
 * Starts a container that never ran. One that runs or has ended is left as it is, since a second call must not run a
 * job twice: look at `status` of the answer. A command that cannot be run fails here when the engine's init has told
 * so by then, and by `diagnoseExit` otherwise.
 */
export async function ensureStarted(docker: Docker, name: string): Promise<ContainerState> {
  const before = await existing(docker, name);
  if (before.startedAt !== undefined) return withoutFailure(docker, before);
  await start(docker, name);
  return withoutFailure(docker, await existing(docker, name));
}

/** Starts one that has ended, as it is; one that runs is left. Throws `no_such_container`. */
export async function startAgain(docker: Docker, name: string): Promise<ContainerState> {
  await existing(docker, name);
  await start(docker, name);
  return withoutFailure(docker, await existing(docker, name));
}

const START_TRIES_MAX = 50;
const START_PAUSE_MILLISECONDS = 100;

/** Again while its network is there twice: the caller whose create crossed another's removes one. */
async function start(docker: Docker, name: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await docker.getContainer(name).start();
      return;
    } catch (error) {
      if (hasStatus(error, 304)) return;
      if (!isAmbiguous(error) || tries === START_TRIES_MAX) throw classify(error);
    }
    await new Promise((resolve) => setTimeout(resolve, START_PAUSE_MILLISECONDS));
  }
}

async function existing(docker: Docker, name: string): Promise<ContainerState> {
  const state = await inspect(docker, name);
  if (state === undefined) throw new ContainerFailure('no_such_container', name);
  return state;
}

async function withoutFailure(docker: Docker, state: ContainerState): Promise<ContainerState> {
  const failure = await diagnoseExit(docker, state);
  if (failure !== undefined) throw failure;
  return state;
}

/** What the engine's init (and a shell) answers when it cannot run the command. */
const CANNOT_RUN_EXIT_CODES: readonly (number | undefined)[] = [126, 127];
/** Init's own last line; a program that exits with 127 for its own reasons does not print it. */
const INIT_COMPLAINT = /\[FATAL tini \(\d+\)\] exec .* failed: .*/;

/**
 * Under an init the engine reports a missing program as a start that went well and an exit with code 127. This tells
 * the two apart by init's last line: a `bad_command` failure, or undefined when the command really ran.
 */
export async function diagnoseExit(docker: Docker, state: ContainerState): Promise<ContainerFailure | undefined> {
  if (!CANNOT_RUN_EXIT_CODES.includes(state.exitCode)) return undefined;
  let tail = '';
  for await (const { data } of logs(docker, state.name, { tail: 5 })) tail += data.toString('utf8');
  const [complaint] = INIT_COMPLAINT.exec(tail) ?? [];
  return complaint === undefined ? undefined : classify(new Error(complaint));
}
