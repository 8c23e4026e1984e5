import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { asFailure, type ContainerFailure, classify } from './failures.js';
import { inspect, type LabelFilter, labelTerms } from './inspect.js';
import { jsonLines } from './json-lines.js';

export interface ContainerExit {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly exitCode: number;
  readonly oomKilled: boolean;
  readonly finishedAt: Date;
}

export interface ExitWatch {
  readonly labels: LabelFilter;
  /** Aborting ends the watch, and its promise resolves. */
  readonly signal: AbortSignal;
  /** Called one after the other. An exit may be told twice (here and by a listing), never out of order. */
  readonly onExit: (exit: ContainerExit) => Promise<void> | void;
  /**
   * Called at the first connection and each later one, after the engine has begun to listen: list now, and no exit is
   * missed. Exits that happen meanwhile wait and come afterwards.
   */
  readonly onReconnect: () => Promise<void> | void;
  /** The connection was lost, or one of the two above threw; the next try comes after `retryMilliseconds`. */
  readonly onFailure?: (failure: ContainerFailure, retryMilliseconds: number) => void;
}

const BACK_OFF_MILLISECONDS = { first: 100, most: 5_000 } as const;

/** Watches until aborted, across restarts of the engine. It keeps its last 256 events only, so none is asked for. */
export async function watchExits(docker: Docker, watch: ExitWatch): Promise<void> {
  let backOff: number = BACK_OFF_MILLISECONDS.first;
  const connected = (): void => {
    backOff = BACK_OFF_MILLISECONDS.first;
  };
  while (!watch.signal.aborted) {
    const failure = await watchOnce(docker, watch, connected);
    if (watch.signal.aborted) return;
    watch.onFailure?.(failure, backOff);
    await pause(backOff, watch.signal);
    backOff = Math.min(backOff * 2, BACK_OFF_MILLISECONDS.most);
  }
}

async function watchOnce(docker: Docker, watch: ExitWatch, connected: () => void): Promise<ContainerFailure> {
  try {
    const source = await openEvents(docker, watch);
    await deliver(docker, { watch, source, connected });
    return classify(new Error('socket hang up'));
  } catch (error) {
    return classify(error);
  }
}

function openEvents(docker: Docker, { labels, signal }: ExitWatch): Promise<Readable> {
  const filters = { type: ['container' as const], event: ['die'], label: labelTerms(labels) };
  return asFailure(async () => (await docker.getEvents({ filters, abortSignal: signal })) as Readable);
}

interface Delivery {
  readonly watch: ExitWatch;
  readonly source: Readable;
  readonly connected: () => void;
}

async function deliver(docker: Docker, { watch, source, connected }: Delivery): Promise<void> {
  source.on('error', () => undefined); // it may break while the caller lists; reading it then tells
  try {
    await watch.onReconnect();
    connected();
    for await (const event of jsonLines(source, watch.signal)) {
      await watch.onExit(await exitOf(docker, event as DieEvent));
    }
  } finally {
    source.destroy();
  }
}

interface DieEvent {
  readonly time: number;
  readonly Actor: { readonly ID: string; readonly Attributes: Readonly<Record<string, string>> };
}

/** The event does not tell an out-of-memory kill; the container does, unless it is gone already. */
async function exitOf(docker: Docker, { time, Actor }: DieEvent): Promise<ContainerExit> {
  const state = await inspect(docker, Actor.ID);
  const { name = '', exitCode, image: _image, ...labels } = Actor.Attributes;
  return {
    id: Actor.ID,
    name: state?.name ?? name,
    labels: state?.labels ?? labels,
    exitCode: Number(exitCode ?? state?.exitCode ?? -1),
    oomKilled: state?.oomKilled ?? false,
    finishedAt: state?.finishedAt ?? new Date(time * 1000),
  };
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener('abort', done, { once: true });
  });
}
