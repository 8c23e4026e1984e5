import type { Containers } from '../docker/containers.js';
import type { Logger } from '../platform/log.js';
import type { AgentMetrics } from './agent-metrics.js';
import type { EngineManager } from './engines/engine-manager.js';
import type { Exits } from './exits.js';
import { containerName, type KernelRun, LABEL, networkName, readKernel, runKey } from './kernel-container.js';
import type { LogStore } from './log-store.js';
import type { Marks } from './marks.js';
import type { Ports } from './ports.js';
import type { Probes } from './probes.js';

export interface RemovalDeps {
  readonly containers: Containers;
  readonly exits: Exits;
  readonly logs: LogStore;
  readonly ports: Ports;
  readonly probes: Probes;
  readonly stops: Marks;
  readonly notices: Marks;
  readonly cuts: Marks;
  readonly answered: Marks;
  /** Of a member's anchor: its engines go before it. */
  readonly engines: Pick<EngineManager, 'removeOf'>;
  readonly metrics: AgentMetrics;
  readonly log: Logger;
}

/** From SIGTERM to SIGKILL; 0 kills at once. */
export interface Removal extends KernelRun {
  readonly graceSeconds: number;
}

/**
 * Stops, tells the exit and waits for its acknowledgement, keeps the log, removes, gives the ports back: in this order,
 * so that whatever dies in between, the next call goes on. What is not there is success.
 */
export async function removeKernel(deps: RemovalDeps, removal: Removal): Promise<void> {
  const name = containerName(removal);
  const key = runKey(removal);
  deps.probes.stop(removal);
  const before = await deps.containers.inspect(name);
  if (before === undefined || before.labels[LABEL.anchor] !== undefined) {
    await deps.engines.removeOf(key, removal.graceSeconds);
  }
  if (before !== undefined) {
    if (before.exitCode === undefined) await deps.stops.add(key);
    const ended = await deps.containers.stop(name, { graceSeconds: removal.graceSeconds });
    if (ended !== undefined) {
      await deps.exits.ensureReported(ended);
      if (ended.startedAt !== undefined) await keepLog(deps, removal);
    }
    await deps.containers.remove(name);
    deps.metrics.removed.inc();
  }
  deps.ports.release(key);
  deps.exits.forget(removal);
  await deps.stops.remove(key);
  await deps.notices.remove(key);
  await deps.cuts.remove(key);
  await deps.answered.remove(key);
}

/** A disk that is full must not hold a GPU: then the log is lost, and the container still goes. */
async function keepLog({ containers, logs, log }: RemovalDeps, run: KernelRun): Promise<void> {
  try {
    await logs.save(run, containers.logs(containerName(run)));
  } catch (error) {
    log.warn({ err: error, kernelId: run.kernelId }, 'the log of a kernel could not be kept');
  }
}

/** Undoes a start that failed: its container goes at once; the caller holds its exit back. */
export async function discardKernel(deps: RemovalDeps, run: KernelRun): Promise<void> {
  deps.probes.stop(run);
  const name = containerName(run);
  if ((await deps.containers.inspect(name)) !== undefined) await deps.containers.remove(name);
  deps.ports.release(runKey(run));
}

/** The session's network goes with its last container, of whichever agent of this engine. */
export async function removeNetworkIfEmpty({ containers }: Pick<RemovalDeps, 'containers'>, sessionId: string) {
  const left = await containers.list({ [LABEL.session]: sessionId });
  if (left.some((container) => readKernel(container) !== undefined)) return false;
  await containers.removeNetwork(networkName(sessionId));
  return true;
}
