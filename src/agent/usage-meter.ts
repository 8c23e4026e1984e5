import type { KernelUsage } from '../contract/index.js';
import type { DeviceProvider } from '../devices/device-provider.js';
import type { Containers } from '../docker/containers.js';
import type { Logger } from '../platform/log.js';
import type { AgentApi } from './api-client.js';
import type { DeviceCounters } from './device-counters.js';
import { listKernels } from './inventory.js';
import type { KernelContainer } from './kernel-container.js';
import { pause } from './retry.js';

export interface UsageSettings {
  /** One batch each so often; a minute when unset. */
  readonly everyMs?: number | undefined;
}

export interface UsageMeterDeps {
  readonly node: string;
  readonly api: Pick<AgentApi, 'reportUsage'>;
  readonly containers: Pick<Containers, 'list' | 'stats'>;
  readonly devices: Pick<DeviceProvider, 'loads'>;
  readonly counters: DeviceCounters;
  readonly log: Logger;
}

export interface UsageMeter {
  /** Until aborted. What fails is logged; the counters of the next batch hold what this one would have told. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

const EVERY_MS_DEFAULT = 60_000;
/** The driver tells of the last second or less, so it is asked more often than the ledger is told. */
const DEVICES_EVERY_MS_MAX = 10_000;
const AT_ONCE = 8;

export function createUsageMeter(deps: UsageMeterDeps, { everyMs = EVERY_MS_DEFAULT }: UsageSettings = {}): UsageMeter {
  const devicesEveryMs = Math.min(DEVICES_EVERY_MS_MAX, everyMs);
  return {
    run: async (signal) => {
      await Promise.all([watchDevices(deps, devicesEveryMs, signal), tellUsage(deps, everyMs, signal)]);
    },
  };
}

/** After a failure, or a pause of the machine, the time between two moments counts as not observed. */
async function watchDevices({ devices, counters, log }: UsageMeterDeps, everyMs: number, signal: AbortSignal) {
  let beforeMs: number | undefined;
  while (!signal.aborted) {
    try {
      const loads = await devices.loads();
      const nowMs = performance.now();
      const elapsedMs = beforeMs === undefined ? 0 : nowMs - beforeMs;
      counters.add(loads, elapsedMs > 3 * everyMs ? 0 : elapsedMs);
      beforeMs = nowMs;
    } catch (error) {
      beforeMs = undefined;
      log.warn({ err: error }, 'the load of the devices is not known; it is asked again');
    }
    await pause(everyMs, signal);
  }
}

async function tellUsage(deps: UsageMeterDeps, everyMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const beganMs = performance.now();
    try {
      await tellOnce(deps, everyMs, signal);
    } catch (error) {
      if (!signal.aborted) deps.log.warn({ err: error }, 'measurements were not told; the next batch has the sums');
    }
    await pause(Math.max(0, everyMs - (performance.now() - beganMs)), signal);
  }
}

async function tellOnce(deps: UsageMeterDeps, everyMs: number, signal: AbortSignal): Promise<void> {
  const takenAt = new Date();
  const atMs = performance.now();
  const kernels = await kernelUsage(deps);
  if (kernels.length === 0) return;
  const devices = [...deps.counters.read()];
  await deps.counters.save(); // before it is told: an agent that starts anew never tells less
  const ageMs = Math.round(performance.now() - atMs);
  await deps.api.reportUsage({ takenAt: takenAt.toISOString(), ageMs, everyMs, kernels, devices }, signal);
}

async function kernelUsage({ node, containers, log }: UsageMeterDeps): Promise<KernelUsage[]> {
  const running = (await listKernels(containers, node)).filter(({ state }) => state === 'running');
  const measured: KernelUsage[] = [];
  const one = async ({ name, kernelId, attempt }: KernelContainer): Promise<void> => {
    const usage = await containers.stats(name);
    if (usage === undefined) return;
    const { cpuNanoseconds, memoryBytes, receivedBytes, sentBytes } = usage;
    measured.push({ kernelId, attempt, cpuNanoseconds, memoryBytes, receivedBytes, sentBytes });
  };
  for (let at = 0; at < running.length; at += AT_ONCE) {
    const looked = await Promise.allSettled(running.slice(at, at + AT_ONCE).map(one));
    for (const { status, ...result } of looked) {
      if (status === 'rejected')
        log.warn({ err: (result as PromiseRejectedResult).reason }, 'a kernel was not measured');
    }
  }
  return measured;
}
