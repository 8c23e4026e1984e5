import type Docker from 'dockerode';
import type { ContainerStats } from 'dockerode';
import { hasStatus } from './engine-error.js';
import { asFailure } from './failures.js';

export interface Usage {
  readonly at: Date;
  /** Since the start of the container: a rate is the difference of two of these. */
  readonly cpuNanoseconds: number;
  /** Without the page cache that the kernel could drop at once. */
  readonly memoryBytes: number;
  readonly pids: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** Undefined when the container is gone or does not run. */
export async function stats(docker: Docker, name: string): Promise<Usage | undefined> {
  return asFailure(async () => {
    try {
      // one-shot: otherwise the engine takes two samples, a second apart, before it answers
      const oneShot = { stream: false as const, 'one-shot': true };
      return usage(await docker.getContainer(name).stats(oneShot));
    } catch (error) {
      if (hasStatus(error, 404)) return undefined;
      throw error;
    }
  });
}

/** The engine answers for a container that does not run as well, with a `read` of year 1 and empty sums. */
export function usage(sample: ContainerStats): Usage | undefined {
  const usedBytes = sample.memory_stats?.usage;
  if (usedBytes === undefined) return undefined;
  const networks = Object.values((sample.networks ?? {}) as Record<string, { rx_bytes: number; tx_bytes: number }>);
  return {
    at: new Date(sample.read),
    cpuNanoseconds: sample.cpu_stats.cpu_usage.total_usage,
    memoryBytes: Math.max(usedBytes - droppableBytes(sample), 0),
    pids: sample.pids_stats?.current ?? 0,
    receivedBytes: networks.reduce((sum, network) => sum + network.rx_bytes, 0),
    sentBytes: networks.reduce((sum, network) => sum + network.tx_bytes, 0),
  };
}

/** total_inactive_file under cgroup v1, inactive_file under v2, as `docker stats` reckons. */
function droppableBytes(sample: ContainerStats): number {
  const detail = (sample.memory_stats.stats ?? {}) as unknown as Record<string, number | undefined>;
  return detail['total_inactive_file'] ?? detail['inactive_file'] ?? 0;
}
