import { type KernelId, kernelIdSchema, type NodeReport } from '../contract/index.js';
import type { ContainerState } from '../docker/container-state.js';
import type { Containers } from '../docker/containers.js';
import type { ContainerExit } from '../docker/exits.js';
import type { Logger } from '../platform/log.js';
import type { AgentMetrics } from './agent-metrics.js';
import { createExitHolds } from './exit-holds.js';
import { type KernelRun, LABEL, readKernel, runKey } from './kernel-container.js';
import { logTail } from './log-tail.js';
import type { Marks } from './marks.js';
import type { Outbox } from './outbox.js';
import { pause } from './retry.js';

/**
 * Tells the API of each container that ended. Events alone are not enough (the engine keeps 256 and may be away), so
 * every connection begins with a listing. An exit may be told twice, and none is missed: a container is removed only
 * after its exit was acknowledged.
 */
export interface Exits {
  /** Watches until aborted, across restarts of the engine. */
  readonly watch: (signal: AbortSignal) => Promise<void>;
  /** Resolves once the API has acknowledged the exit. A container that never ran has none to tell. */
  readonly ensureReported: (container: ContainerState) => Promise<void>;
  /**
   * Exits of a run that is being started wait for the start's own outcome. Call what is returned when it is known: an exit
   * of a start that failed is told to nobody, since the start's failure says more.
   */
  readonly hold: (run: KernelRun) => (outcome: 'tell' | 'drop') => void;
  /** The container is gone. */
  readonly forget: (run: KernelRun) => void;
}

export interface ExitsDeps {
  readonly node: string;
  readonly containers: Pick<Containers, 'watchExits' | 'list' | 'logs' | 'engineInfo'>;
  readonly outbox: Pick<Outbox, 'post'>;
  readonly stops: Marks;
  /** Runs that the agent ended because it was out of contact. */
  readonly cuts: Marks;
  readonly metrics: AgentMetrics;
  readonly log: Logger;
  /** The container has ended: nothing more is to be probed. */
  readonly onEnded: (run: KernelRun) => void;
}

interface Ending extends KernelRun {
  readonly kernelId: KernelId;
  readonly name: string;
  readonly exitCode: number;
  readonly oomKilled: boolean;
  readonly finishedAt: Date;
}

/** SIGKILL, SIGTERM, and what the engine writes for a container that it lost. */
const LOST_EXIT_CODES: readonly number[] = [137, 143, 255];
/** An engine that goes down kills its containers first: this long after, it no longer answers. */
const ENGINE_DOUBT_MS = 400;

export function createExits(deps: ExitsDeps): Exits {
  const told = new Map<string, Promise<void>>();
  const holds = createExitHolds();
  /** Nobody listened: before the first connection, and while the event stream is cut. */
  let isCut = true;

  const tell = (ending: Ending, engineLost: boolean): Promise<void> => {
    const key = runKey(ending);
    deps.onEnded(ending);
    const known = told.get(key);
    if (known !== undefined) return known;
    const acknowledged = (async () => {
      if ((await holds.outcome(key)) === 'drop') return;
      const isPlatforms = engineLost || deps.cuts.has(key);
      deps.metrics.exits.inc({ engine_lost: String(isPlatforms) });
      await deps.outbox.post(await report(deps, ending, isPlatforms));
    })();
    told.set(key, acknowledged);
    return acknowledged;
  };

  const couldBeLost = (ending: Ending): boolean =>
    LOST_EXIT_CODES.includes(ending.exitCode) && !ending.oomKilled && !deps.stops.has(runKey(ending));

  const tellAll = async (): Promise<void> => {
    const containers = await deps.containers.list({ [LABEL.node]: deps.node });
    for (const container of containers) {
      const ending = endingOf(container);
      if (ending !== undefined) void tell(ending, isCut && couldBeLost(ending));
    }
    isCut = false;
  };

  const tellOne = async (exit: ContainerExit): Promise<void> => {
    const run = runOf(exit.labels);
    if (run === undefined) return;
    const ending = { ...run, ...exit };
    if (!couldBeLost(ending)) return void tell(ending, false);
    deps.onEnded(ending); // whoever is to blame
    void engineIsGone(deps).then((engineLost) => tell(ending, engineLost || isCut));
  };

  return {
    hold: (run) => holds.hold(runKey(run)),
    forget: (run) => {
      told.delete(runKey(run));
      holds.forget(runKey(run));
    },
    ensureReported: async (container) => {
      const ending = endingOf(container);
      if (ending !== undefined) await tell(ending, false);
    },
    watch: (signal) =>
      deps.containers.watchExits({
        labels: { [LABEL.node]: deps.node },
        signal,
        onReconnect: tellAll,
        onExit: tellOne,
        onFailure: (failure, retryMs) => {
          isCut = true;
          deps.metrics.engineCuts.inc();
          deps.log.warn({ err: failure, retryMs }, "the engine's events are cut; listing follows");
        },
      }),
  };
}

async function report(deps: ExitsDeps, ending: Ending, engineLost: boolean): Promise<NodeReport> {
  const { kernelId, attempt, exitCode, oomKilled } = ending;
  deps.log.info({ kernelId, attempt, exitCode, oomKilled, engineLost }, 'a kernel ended');
  return {
    kind: 'exited',
    kernelId,
    attempt,
    exitCode,
    oomKilled,
    engineLost,
    finishedAt: ending.finishedAt.toISOString(),
    logTail: await logTail(deps.containers, ending.name),
  };
}

async function engineIsGone({ containers }: ExitsDeps): Promise<boolean> {
  await pause(ENGINE_DOUBT_MS);
  return containers.engineInfo().then(
    () => false,
    () => true,
  );
}

function endingOf(container: ContainerState): Ending | undefined {
  const kernel = readKernel(container);
  if (kernel === undefined || container.exitCode === undefined) return undefined;
  const { kernelId, attempt, name } = kernel;
  const { exitCode, oomKilled, finishedAt = new Date() } = container;
  return { kernelId, attempt, name, exitCode, oomKilled, finishedAt };
}

function runOf(labels: Readonly<Record<string, string>>): Pick<Ending, 'kernelId' | 'attempt'> | undefined {
  const kernelId = kernelIdSchema.safeParse(labels[LABEL.kernel]);
  const attempt = Number(labels[LABEL.attempt]);
  return kernelId.success && Number.isInteger(attempt) ? { kernelId: kernelId.data, attempt } : undefined;
}
