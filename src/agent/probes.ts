import type { HealthCheck, NodeReport } from '../contract/index.js';
import type { Logger } from '../platform/log.js';
import { type KernelContainer, type KernelRun, runKey } from './kernel-container.js';
import type { Marks } from './marks.js';
import type { Outbox } from './outbox.js';
import { type Level, levelAfter, type Miss } from './probe-level.js';
import { probeOnce } from './probe-once.js';
import type { ReplicaMetrics } from './replica-metrics.js';
import { pause } from './retry.js';

/** Health checks of the containers that have one, and figures of replicas. Tells changes of health only; the outbox sends each until it is acknowledged. */
export interface Probes {
  /** A container without a check, one that does not run and one that is watched already change nothing. */
  readonly watch: (kernel: KernelContainer) => void;
  readonly stop: (run: KernelRun) => void;
  readonly stopAll: () => void;
}

export interface ProbesDeps {
  readonly outbox: Pick<Outbox, 'post'>;
  /** Runs that answered once: an agent that starts anew takes their first miss for one. */
  readonly answered: Marks;
  readonly figures: Pick<ReplicaMetrics, 'read'>;
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
      const { health: check, metrics } = kernel;
      const key = runKey(kernel);
      if ((check === null && metrics === null) || kernel.state !== 'running' || running.has(key)) return;
      const controller = new AbortController();
      running.set(key, controller);
      if (metrics !== null) deps.figures.read(kernel, metrics, controller.signal);
      if (check !== null) void probe(deps, { kernel, check, signal: controller.signal });
    },
  };
}

interface Probing {
  readonly kernel: KernelContainer;
  readonly check: HealthCheck;
  readonly signal: AbortSignal;
}

const UNTIL_ANSWER_EVERY_MS = 1_000;
const PAUSE_MS_LEAST = 20;
/** Nobody listens in a container that has just ended, whose exit is on its way and says more. */
const EXIT_DOUBT_MS = 250;

/**
 * Until the first success misses do not count, since `initialDelaySeconds` bounds that wait elsewhere; once that delay is
 * over they do. It asks each second until then, so that a replica serves as soon as it can.
 */
async function probe(deps: ProbesDeps, { kernel, check, signal }: Probing): Promise<void> {
  const startedAt = kernel.container.startedAt?.getTime() ?? 0;
  const key = runKey(kernel);
  let told: Level | undefined;
  let misses = 0;
  while (!signal.aborted) {
    const beganMs = performance.now();
    const miss = await probeOnce(kernel.container, check, signal);
    if (miss?.refused === true) await pause(EXIT_DOUBT_MS, signal);
    if (signal.aborted) return;
    misses = miss === undefined ? 0 : misses + 1;
    const isOverdue = Date.now() > startedAt + check.initialDelaySeconds * 1000;
    const counts = told !== undefined || deps.answered.has(key) || isOverdue;
    const level = levelAfter({ told, misses, counts, miss }, check);
    if (level !== undefined && level !== told) tell(deps, { kernel, check, level, misses, miss });
    if (miss === undefined && !deps.answered.has(key)) await remember(deps, key);
    told = level;
    const everyMs = check.intervalSeconds * 1000;
    const untilMs = counts || told !== undefined ? everyMs : Math.min(everyMs, UNTIL_ANSWER_EVERY_MS);
    await pause(Math.max(PAUSE_MS_LEAST, untilMs - (performance.now() - beganMs)), signal);
  }
}

/** What is not written is found out again by the next agent. */
const remember = ({ answered, log }: ProbesDeps, key: string): Promise<void> =>
  answered.add(key).catch((error: unknown) => log.warn({ err: error }, 'a first success was not noted on disk'));

interface Told {
  readonly kernel: KernelContainer;
  readonly check: HealthCheck;
  readonly level: Level;
  readonly misses: number;
  readonly miss: Miss | undefined;
}

function tell({ outbox, log }: ProbesDeps, { kernel: { kernelId, attempt }, check, level, misses, miss }: Told): void {
  const missed = misses === 1 ? 'a check failed' : `${misses} checks in a row failed`;
  const message = miss === undefined ? `answers on ${check.path}` : `${missed}: ${miss.message}`;
  log.info({ kernelId, level }, 'health of a kernel changed');
  const report: NodeReport = {
    kind: 'health',
    ...{ kernelId, attempt, level },
    healthy: level !== 'unhealthy',
    message: message.slice(0, 500),
  };
  void outbox.post(report);
}
