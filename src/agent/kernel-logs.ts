import type { Containers } from '../docker/containers.js';
import type { OutputFrame } from '../docker/frames.js';
import { containerName, type KernelRun } from './kernel-container.js';
import type { LogStore } from './log-store.js';

export interface KernelLogOptions {
  readonly follow: boolean;
  readonly tail?: number | undefined;
  /** Only what came in the last so many seconds. */
  readonly sinceSeconds?: number | undefined;
  readonly signal: AbortSignal;
}

export interface KernelLogDeps {
  readonly containers: Pick<Containers, 'logs' | 'inspect'>;
  readonly logs: LogStore;
}

/** From the container while there is one, afterwards from the file that was kept; undefined when there is neither. */
export async function kernelLogs(
  { containers, logs }: KernelLogDeps,
  run: KernelRun,
  { follow, tail, sinceSeconds, signal }: KernelLogOptions,
): Promise<AsyncIterable<OutputFrame> | undefined> {
  const name = containerName(run);
  const since = sinceSeconds === undefined ? undefined : new Date(Date.now() - sinceSeconds * 1000);
  const lines = tail === undefined ? {} : { tail };
  if ((await containers.inspect(name)) === undefined) return logs.read(run, { ...lines, ...(since && { since }) });
  const from = since && { sinceSeconds: since.getTime() / 1000 };
  return containers.logs(name, { follow, signal, ...lines, ...from });
}
