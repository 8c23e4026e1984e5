import { request } from 'undici';
import type { HealthCheck, NodeReport } from '../contract/index.js';
import type { ContainerState } from '../docker/container-state.js';
import type { Logger } from '../platform/log.js';
import { type KernelContainer, type KernelRun, runKey } from './kernel-container.js';
import type { Outbox } from './outbox.js';
import { pause } from './retry.js';

/** Health checks of the containers that have one. Tells changes only; the outbox sends each until it is acknowledged. */
export interface Probes {
  /** A container without a check, one that does not run and one that is watched already change nothing. */
  readonly watch: (kernel: KernelContainer) => void;
  readonly stop: (run: KernelRun) => void;
  readonly stopAll: () => void;
}

export interface ProbesDeps {
  readonly outbox: Pick<Outbox, 'post'>;
  readonly log: Logger;
}

export function createProbes(deps: ProbesDeps): Probes {
  const running = new Map<string, AbortController>();
  const stop = (run: KernelRun): void => {
    running.get(runKey(run))?.abort();
    running.delete(runKey(run));
  };
  return {
    stop,
    stopAll: () => {
      for (const controller of running.values()) controller.abort();
      running.clear();
    },
    watch: (kernel) => {
      const key = runKey(kernel);
      if (kernel.health === null || kernel.state !== 'running' || running.has(key)) return;
      const controller = new AbortController();
      running.set(key, controller);
      void probe(deps, { kernel, check: kernel.health, signal: controller.signal });
    },
  };
}

interface Probing {
  readonly kernel: KernelContainer;
  readonly check: HealthCheck;
  readonly signal: AbortSignal;
}

/**
 * Until the first success misses do not count, since `initialDelaySeconds` bounds that wait elsewhere; an agent that
 * was restarted has seen no success, so once that delay is over misses count again.
 */
async function probe({ outbox, log }: ProbesDeps, { kernel, check, signal }: Probing): Promise<void> {
  const url = checkUrl(kernel.container, check);
  const startedAt = kernel.container.startedAt?.getTime() ?? 0;
  let told: boolean | undefined;
  let misses = 0;
  while (!signal.aborted) {
    const miss = url === undefined ? 'the container has no address' : await missOf(url, check, signal);
    if (signal.aborted) return;
    misses = miss === undefined ? 0 : misses + 1;
    const counts = told !== undefined || Date.now() > startedAt + check.initialDelaySeconds * 1000;
    const healthy = miss === undefined ? true : misses >= check.failures && counts ? false : told;
    if (healthy !== undefined && healthy !== told) {
      told = healthy;
      const message = healthy ? `answers on ${check.path}` : `${misses} checks in a row failed: ${miss}`;
      log.info({ kernelId: kernel.kernelId, healthy }, 'health of a kernel changed');
      void outbox.post(healthReport(kernel, healthy, message));
    }
    await pause(check.intervalSeconds * 1000, signal);
  }
}

/** Undefined: it answered with 2xx or 3xx in time. */
async function missOf(url: string, check: HealthCheck, signal: AbortSignal): Promise<string | undefined> {
  const timeoutMs = check.timeoutSeconds * 1000;
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  signal.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(abort, timeoutMs);
  try {
    const { statusCode, body } = await request(url, { signal: controller.signal, reset: true });
    body.on('error', () => undefined).destroy();
    return statusCode >= 200 && statusCode < 400 ? undefined : `status ${statusCode}`;
  } catch (error) {
    if (controller.signal.aborted) return `no answer within ${check.timeoutSeconds} s`;
    return error instanceof Error && 'code' in error ? String(error.code) : 'no answer';
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

/** A published port works wherever the engine runs; the container's own address needs it on this machine. */
function checkUrl(container: ContainerState, check: HealthCheck): string | undefined {
  const published = container.ports.find((port) => port.containerPort === check.port);
  if (published !== undefined) {
    const host = published.hostAddress === '0.0.0.0' ? '127.0.0.1' : published.hostAddress;
    return `http://${host}:${published.hostPort}${check.path}`;
  }
  const [address] = Object.values(container.addresses);
  return address === undefined ? undefined : `http://${address}:${check.port}${check.path}`;
}

function healthReport({ kernelId, attempt }: KernelContainer, healthy: boolean, message: string): NodeReport {
  return { kind: 'health', kernelId, attempt, healthy, message: message.slice(0, 500) };
}
