import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { AggregatorRegistry } from 'prom-client';
import type { Logger } from '../src/platform/log.js';
import { startMetricsServer } from '../src/platform/metrics.js';

/** A worker that ended is started again after so long. */
const AGAIN_MS = 500;
/** Names the place of a worker, from 1: the same after its restart. */
const PLACE = 'BERTH_GATEWAY_WORKER';

export interface GatewayWorkersOptions {
  readonly workers: number;
  readonly metricsPort: number | undefined;
  readonly log: Logger;
}

/** Which of several workers this process is; 0 where it is the only one. */
export const workerPlace = (): number => (cluster.isWorker ? Number(process.env[PLACE] ?? 0) : 0);

export const isFirstOfMany = (workers: number): boolean => workers > 1 && cluster.isPrimary;

/**
 * Keeps so many processes alive that share the gateway's port: connections go to them in turn. Its metrics are their sums.
 * Answers what ends them.
 */
export async function runGatewayWorkers(options: GatewayWorkersOptions): Promise<() => Promise<void>> {
  const { workers, metricsPort, log } = options;
  const running = new Map<number, Worker>();
  let isEnding = false;
  const start = (place: number): void => {
    const worker = cluster.fork({ [PLACE]: String(place) });
    running.set(place, worker);
    worker.once('exit', (code, signal) => {
      running.delete(place);
      if (isEnding) return;
      log.error({ place, code, signal }, 'a gateway worker ended; it is started again');
      setTimeout(() => isEnding || start(place), AGAIN_MS);
    });
  };
  const metrics = new AggregatorRegistry();
  for (let place = 1; place <= workers; place += 1) start(place);
  const server =
    metricsPort === undefined
      ? undefined
      : await startMetricsServer(
          { contentType: metrics.contentType, metrics: () => metrics.clusterMetrics() },
          metricsPort,
        );
  return async () => {
    isEnding = true;
    await server?.close();
    await Promise.all(
      [...running.values()].map((worker) => {
        const ended = once(worker, 'exit');
        worker.process.kill('SIGTERM');
        return ended;
      }),
    );
  };
}
