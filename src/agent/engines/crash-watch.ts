import type { ContainerExit } from '../../docker/exits.js';
import { LABEL } from '../kernel-container.js';
import { logTail } from '../log-tail.js';
import type { CrashHistory } from './crash-book.js';
import type { EngineDeps } from './engine-deps.js';
import { ENGINE_LABEL, engineName, type FoundEngine, isRunning, listEngines } from './found-engine.js';
import { untilReady } from './ready.js';
import { CRASHES_KEPT, restartPauseSeconds } from './restart-budget.js';
import { found } from './start-engine.js';

/** What argument parsers end with: another try would end in the same way. */
const USAGE_EXIT_CODE = 2;

interface Ending {
  readonly exitCode: number;
  readonly oomKilled: boolean;
}

/**
 * Starts engines that crashed again, alone, after a pause that grows, and tells the API of each step. One that ended while it
 * slept has given its memory away, and one whose arguments are refused will not do better: these are given up at once.
 */
export interface CrashWatch {
  /** Until aborted, across restarts of the container engine; begins with what is there already. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

export function createCrashWatch(deps: EngineDeps): CrashWatch {
  return {
    run: (signal) =>
      deps.containers.watchExits({
        labels: { [LABEL.node]: deps.node, [ENGINE_LABEL.instance]: '' },
        signal,
        onReconnect: () => adoptAll(deps, signal),
        onExit: (exit) => onExit(deps, exit, signal),
        onFailure: (failure, retryMs) =>
          deps.log.warn({ err: failure, retryMs }, 'crashes of engines are not seen; listing follows'),
      }),
  };
}

/** Ports and states of engines of an earlier agent; those that ended meanwhile have crashed. */
async function adoptAll(deps: EngineDeps, signal: AbortSignal): Promise<void> {
  for (const engine of await listEngines(deps.containers, deps.node)) {
    adoptPort(deps, engine);
    const { exitCode, oomKilled, startedAt } = engine.container;
    if (startedAt !== undefined && exitCode !== undefined) await ended(deps, engine, { exitCode, oomKilled, signal });
  }
}

export function adoptPort({ ports }: Pick<EngineDeps, 'ports'>, { instanceId, hostPort }: FoundEngine): void {
  ports.adopt(engineName(instanceId), [{ name: 'engine', containerPort: 0, hostPort }]);
}

async function onExit(deps: EngineDeps, { labels, exitCode, oomKilled }: ContainerExit, signal: AbortSignal) {
  const engine = await found(deps, labels[ENGINE_LABEL.instance] ?? '');
  // it may be on again already
  if (engine !== undefined && !isRunning(engine.container)) await ended(deps, engine, { exitCode, oomKilled, signal });
}

async function ended(
  deps: EngineDeps,
  engine: FoundEngine,
  { signal, ...ending }: Ending & { readonly signal: AbortSignal },
): Promise<void> {
  const record = deps.records.of(engine.instanceId);
  const isSeenTo = () => record.isStopping || record.restart !== undefined || record.failure !== undefined;
  if (isSeenTo()) return;
  const how = `ended with ${ending.exitCode}${ending.oomKilled ? ', out of memory' : ''}`;
  const said = (await logTail(deps.containers, engine.name).catch(() => '')).trim().split('\n').slice(-2).join(' | ');
  const message = `${how}${said === '' ? '' : `: ${said}`}`.slice(0, 400);
  if (isSeenTo()) return;
  const pauseSeconds = await countCrash(deps, engine);
  if (isSeenTo()) return;
  const isForGood = !record.hasServed && ending.exitCode === USAGE_EXIT_CODE;
  if (isForGood) giveUp(deps, engine, { message, whose: 'claim' });
  else if (deps.sleepers.has(engine.instanceId))
    giveUp(deps, engine, { message: `${message} (asleep)`, whose: 'node' });
  else if (pauseSeconds === undefined) giveUp(deps, engine, { message: `${message} (too often)`, whose: 'node' });
  else {
    record.state = 'restarting';
    record.restart = setTimeout(() => void restart(deps, engine, signal), pauseSeconds * deps.secondMs).unref();
    deps.log.warn({ instanceId: engine.instanceId, pauseSeconds, message }, 'an engine crashed; it is started again');
    deps.tell(engine.memberSessionId);
  }
}

/** The pause before its next start; undefined: too often. A run crashes once, whoever sees it. */
async function countCrash(deps: EngineDeps, { instanceId, container }: FoundEngine): Promise<number | undefined> {
  const { restarts, crashes } = deps.crashes.of(instanceId);
  const run = container.startedAt?.toISOString() ?? '';
  const before = crashes.filter((crash) => crash.run !== run);
  const nowMs = Date.now();
  const told = [...before, { atMs: nowMs, run }].slice(-CRASHES_KEPT);
  await write(deps, instanceId, { restarts, crashes: told });
  return restartPauseSeconds(
    before.map(({ atMs }) => atMs),
    nowMs,
  );
}

/** A disk that is full does not keep an engine down. */
const write = ({ crashes, log }: EngineDeps, instanceId: string, history: CrashHistory): Promise<void> =>
  crashes.put(instanceId, history).catch((error: unknown) => {
    log.warn({ err: error, instanceId }, 'its crashes could not be written down');
  });

function giveUp(
  deps: EngineDeps,
  { instanceId, memberSessionId }: FoundEngine,
  failure: { message: string; whose: 'node' | 'claim' },
) {
  Object.assign(deps.records.of(instanceId), { state: 'exited', failure });
  deps.log.error({ instanceId, message: failure.message }, 'an engine is given up');
  deps.tell(memberSessionId);
}

/** Under its limit, as at the first start: an engine that ends takes its segment along. */
async function restart(deps: EngineDeps, engine: FoundEngine, signal: AbortSignal): Promise<void> {
  const { instanceId, memberSessionId, name } = engine;
  const record = deps.records.of(instanceId);
  record.restart = undefined;
  if (signal.aborted || record.isStopping) return;
  try {
    await limitAgain(deps, engine);
    Object.assign(record, { state: 'starting', hasServed: false });
    const { restarts, crashes } = deps.crashes.of(instanceId);
    await write(deps, instanceId, { restarts: restarts + 1, crashes });
    await deps.containers.startAgain(name);
    deps.tell(memberSessionId);
    const outcome = await untilReady(deps, engine, { seconds: engine.startDeadlineSeconds, signal });
    if (outcome !== 'ready') deps.log.warn({ instanceId, message: outcome.message }, 'an engine did not come back');
    deps.tell(memberSessionId);
  } catch (error) {
    if (signal.aborted || record.isStopping) return;
    deps.log.warn({ err: error, instanceId }, 'an engine could not be started again');
    giveUp(deps, engine, { message: 'it could not be started again after a crash', whose: 'node' });
  }
}

/** What was asked for last; after the agent was restarted, what stands there, else what the ledger says. */
async function limitAgain(deps: EngineDeps, { instanceId, anchorKey, segment }: FoundEngine): Promise<void> {
  const record = deps.records.of(instanceId);
  const keeper = deps.keeper(anchorKey);
  record.limitBytes ??= (await keeper.get(segment))?.limitBytes ?? (await deps.api.engineOrder(instanceId)).limitBytes;
  await keeper.set(segment, { limitBytes: record.limitBytes, create: true, atMost: true });
}
