import type { OrderResult } from '../../contract/index.js';
import { pause } from '../retry.js';
import { clientOf, type EngineDeps, isAsleep } from './engine-deps.js';
import { type FoundEngine, isRunning } from './found-engine.js';
import { failed, readyResult } from './ready.js';

const LOOK_MS = 50;

/**
 * The limit first: at the planned one or below, read back, while it still sleeps. Then it is woken, and its limit read again.
 * Awake already: `ready`.
 */
export async function wakeEngine(
  deps: EngineDeps,
  engine: FoundEngine | undefined,
  { plannedBytes, signal }: { readonly plannedBytes: number; readonly signal: AbortSignal },
): Promise<OrderResult> {
  if (engine === undefined || !isRunning(engine.container)) return failed('the engine does not run');
  const beganMs = performance.now();
  const { instanceId, anchorKey, segment } = engine;
  const record = deps.records.of(instanceId);
  const limit = await deps.keeper(anchorKey).set(segment, { limitBytes: plannedBytes, create: true, atMost: true });
  if (limit === undefined || limit.limitBytes > plannedBytes)
    return failed('its limit could not be set before its wake');
  record.limitBytes = plannedBytes;
  await deps.sleepers.remove(instanceId); // its memory is its own again, whatever comes
  if (await isAsleepOnce(deps, engine)) {
    const problem = await wake(deps, engine, signal);
    if (problem !== null) return problem;
  }
  record.hasServed = true;
  record.state = 'ready';
  return readyResult(deps, engine, beganMs);
}

/** Of an engine that does not tell, the word of the agent was just taken back: waking one that is awake changes nothing. */
const isAsleepOnce = async (deps: EngineDeps, engine: FoundEngine): Promise<boolean> =>
  (await clientOf(deps, engine).isSleeping()) ?? true;

async function wake(deps: EngineDeps, engine: FoundEngine, signal: AbortSignal) {
  const client = clientOf(deps, engine);
  const seconds = engine.startDeadlineSeconds;
  const late = AbortSignal.timeout(seconds * 1000);
  const until = AbortSignal.any([signal, late]);
  try {
    await client.wake(until);
    while ((await isAsleep(deps, engine)) || !(await client.isHealthy())) {
      until.throwIfAborted();
      await pause(LOOK_MS, until);
    }
    return null;
  } catch (error) {
    signal.throwIfAborted();
    return failed(late.aborted ? `not awake within ${seconds} s` : (error as Error).message);
  }
}
