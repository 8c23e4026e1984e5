import { BUSYBOX_IMAGE } from '../../../infra/setup/image.mjs';
import type { CreateSessionInput, Session, SessionEvent } from '../../../src/contract/index.js';
import type { Berth } from './berth.js';

const WAIT_SECONDS = 120;

export interface Wanted extends Partial<Omit<CreateSessionInput, 'kernels' | 'command'>> {
  readonly run: string;
  readonly gpus?: number;
  readonly memoryBytes?: number;
  readonly command?: readonly string[];
}

/** A small batch session of one kernel. `run` is a shell line. */
export function spec({ run, gpus = 0, memoryBytes = 32 * 2 ** 20, command, ...rest }: Wanted): CreateSessionInput {
  return {
    image: BUSYBOX_IMAGE,
    gracePeriodSeconds: 2,
    ...rest,
    command: [...(command ?? ['sh', '-c', run])],
    kernels: [{ slots: { cpuMilli: 100, memoryBytes, gpuCount: gpus } }],
  };
}

export const submit = (berth: Berth, wanted: Wanted): Promise<Session> => berth.client.sessions.create(spec(wanted));

export const ended = (berth: Berth, { id }: Pick<Session, 'id'>): Promise<Session> =>
  berth.client.sessions.wait(id, { timeoutSeconds: WAIT_SECONDS });

export async function running(berth: Berth, { id }: Pick<Session, 'id'>): Promise<Session> {
  const session = await berth.client.sessions.wait(id, { for: 'running', timeoutSeconds: WAIT_SECONDS });
  if (session.state !== 'RUNNING') throw new Error(`${id} is ${session.state} (${session.cause}: ${session.message})`);
  return session;
}

export const history = (berth: Berth, { id }: Pick<Session, 'id'>): Promise<readonly SessionEvent[]> =>
  berth.client.sessions.history(id).toArray();

/** The states that it went through, in order. */
export async function path(berth: Berth, session: Pick<Session, 'id'>): Promise<string[]> {
  const events = await history(berth, session);
  return events.filter(({ kind }) => kind === 'state').map(({ to }) => to ?? '');
}

/** Resolves within some milliseconds of the moment at which the ledger says so; reads past the API, for its speed. */
export async function reaches({ store }: Berth, { id }: Pick<Session, 'id'>, state: string): Promise<void> {
  const deadline = performance.now() + WAIT_SECONDS * 1000;
  while (performance.now() < deadline) {
    const events = await store.events.ofSession(id, null, 100);
    if (events.some(({ kind, to }) => kind === 'state' && to === state)) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`${id} did not reach ${state} within ${WAIT_SECONDS} s`);
}

export const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** What tells how it ended. */
export const outcome = ({ state, result, cause, exitCode }: Session) => ({ state, result, cause, exitCode });

export const SUCCESS = { state: 'TERMINATED', result: 'success', cause: 'completed', exitCode: 0 } as const;
export const STOPPED = { state: 'TERMINATED', result: 'stopped', cause: 'user-stop' } as const;
export const failedWith = (exitCode: number) =>
  ({ state: 'TERMINATED', result: 'failure', cause: 'user-failure', exitCode }) as const;
