import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { asFailure, classify } from './failures.js';
import { frames, type OutputFrame } from './frames.js';

export interface LogOptions {
  /** Stay until the container ends. */
  readonly follow?: boolean;
  /** The last so many lines; all that are kept without it. */
  readonly tail?: number;
  /** Only what is newer than this moment, in seconds since 1970 (fractions count). */
  readonly sinceSeconds?: number;
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal;
}

/** Output as it was written, in frames; read as slowly as you like. Throws `no_such_container`. */
export async function* logs(docker: Docker, name: string, options: LogOptions = {}): AsyncGenerator<OutputFrame, void> {
  const source = await asFailure(() => openLogs(docker, name, options));
  try {
    yield* frames(source, options.signal);
  } catch (error) {
    throw classify(error);
  }
}

/**
 * Not `container.logs`: without `follow` dockerode holds the whole log in memory, and parses it when it happens to be
 * JSON. Here it is a stream in both cases.
 */
function openLogs(docker: Docker, name: string, options: LogOptions): Promise<Readable> {
  const query = {
    stdout: true,
    stderr: true,
    follow: options.follow ?? false,
    tail: options.tail ?? 'all',
    ...(options.sinceSeconds !== undefined && { since: options.sinceSeconds }),
  };
  return new Promise((resolve, reject) => {
    docker.modem.dial(
      {
        path: `/containers/${encodeURIComponent(name)}/logs?`,
        method: 'GET',
        isStream: true,
        statusCodes: { 200: true, 404: 'no such container', 500: 'server error' },
        options: query,
      },
      (error, answer) => (error === null ? resolve(answer as Readable) : reject(error)),
    );
  });
}
