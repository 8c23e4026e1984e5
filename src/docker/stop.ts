import type Docker from 'dockerode';
import type { ContainerState } from './container-state.js';
import { hasStatus } from './engine-error.js';
import { asFailure, ContainerFailure } from './failures.js';
import { inspect } from './inspect.js';

export interface StopOptions {
  /** How long it may take over its signal before SIGKILL. 0: SIGKILL at once. */
  readonly graceSeconds: number;
  /** Default: the container's own stop signal, else SIGTERM. */
  readonly signal?: string;
}

/** After SIGKILL a process may hang in the kernel (a lost disk, a lost GPU); then the engine has failed. */
const KILL_SECONDS_MAX = 15;

/**
 * Returns once the container has ended, with its last state; undefined when there is none. The engine's own stop
 * takes a signal only from API 1.42 on, so signal, wait and kill are three steps here.
 */
export async function stop(docker: Docker, name: string, options: StopOptions): Promise<ContainerState | undefined> {
  const before = await inspect(docker, name);
  if (before === undefined || hasEnded(before)) return before;
  if (options.graceSeconds > 0) {
    await kill(docker, name, options.signal ?? (await stopSignal(docker, name)));
    const after = await waitForEnd(docker, name, options.graceSeconds);
    if (after === undefined || hasEnded(after)) return after;
  }
  await kill(docker, name, 'SIGKILL');
  const killed = await waitForEnd(docker, name, KILL_SECONDS_MAX);
  if (killed === undefined || hasEnded(killed)) return killed;
  throw new ContainerFailure('engine_error', `${name} outlived SIGKILL by ${KILL_SECONDS_MAX} s`);
}

/** A container that is gone, ended or never ran is success. */
export async function kill(docker: Docker, name: string, signal = 'SIGKILL'): Promise<void> {
  await asFailure(async () => {
    try {
      await docker.getContainer(name).kill({ signal });
    } catch (error) {
      if (!hasStatus(error, 404, 409)) throw error;
    }
  });
}

const REMOVE_TRIES_MAX = 50;
const REMOVE_PAUSE_MILLISECONDS = 100;

/** Kills what still runs. Returns once the name is free; a container that is gone is success. */
export async function remove(docker: Docker, name: string): Promise<void> {
  for (let tries = 0; tries < REMOVE_TRIES_MAX; tries += 1) {
    if (await tryRemove(docker, name)) return;
    await pause(REMOVE_PAUSE_MILLISECONDS);
  }
  throw new ContainerFailure('engine_error', `${name} is still being removed`);
}

/** False while another call removes it (409): the name is not free yet. */
async function tryRemove(docker: Docker, name: string): Promise<boolean> {
  return asFailure(async () => {
    try {
      await docker.getContainer(name).remove({ force: true, v: true });
      return true;
    } catch (error) {
      if (hasStatus(error, 404)) return true;
      if (hasStatus(error, 409)) return false;
      throw error;
    }
  });
}

const hasEnded = ({ status }: ContainerState): boolean => status !== 'running' && status !== 'paused';

async function stopSignal(docker: Docker, name: string): Promise<string> {
  const info = await asFailure(() => docker.getContainer(name).inspect());
  return (info.Config as { StopSignal?: string }).StopSignal ?? 'SIGTERM';
}

async function waitForEnd(docker: Docker, name: string, seconds: number): Promise<ContainerState | undefined> {
  const abortSignal = AbortSignal.timeout(seconds * 1000);
  await asFailure(async () => {
    try {
      await docker.getContainer(name).wait({ abortSignal });
    } catch (error) {
      if (!abortSignal.aborted && !hasStatus(error, 404)) throw error;
    }
  });
  return inspect(docker, name);
}

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
