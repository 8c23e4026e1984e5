import type { OrderResult } from '../../contract/index.js';
import { EngineFailure } from '../../engines/engine-client.js';
import { pause } from '../retry.js';
import { clientOf, type EngineDeps, isAsleep } from './engine-deps.js';
import { hostBytesOf, measure, residueOf } from './engine-memory.js';
import { type FoundEngine, isRunning } from './found-engine.js';
import { failed, tookSince } from './ready.js';

const SLEEP_SECONDS_MAX = 120;
/** A driver gives memory back a moment after the engine says that it has. */
const MEASURES_MAX = 10;
const MEASURE_PAUSE_MS = 200;

/**
 * Looked at again, put to sleep, measured. Anything in flight, or a load that cannot be read: `busy`, and it was not slept. One
 * that sleeps already is measured again.
 */
export async function sleepEngine(
  deps: EngineDeps,
  engine: FoundEngine | undefined,
  signal: AbortSignal,
): Promise<OrderResult> {
  if (engine === undefined) return { outcome: 'gone' };
  if (!isRunning(engine.container)) return failed('the engine does not run');
  const beganMs = performance.now();
  const { instanceId } = engine;
  const record = deps.records.of(instanceId);
  if (!(await isAsleep(deps, engine))) {
    const busy = await inFlight(deps, engine);
    if (busy !== null) return busy;
    record.awakeBytes = await measure(deps, engine);
    await deps.sleepers.add(instanceId); // before: an engine that ends while it falls asleep has given its memory away
    const problem = await fallAsleep(deps, engine, signal);
    if (problem !== null) return problem;
  }
  await deps.sleepers.add(instanceId);
  record.state = 'sleeping';
  return asleep(deps, engine, { beganMs, signal });
}

async function inFlight(deps: EngineDeps, engine: FoundEngine): Promise<OrderResult | null> {
  const load = await clientOf(deps, engine).load();
  if (load !== null && load.running + load.waiting === 0) return null;
  return { outcome: 'busy', running: load?.running ?? null, waiting: load?.waiting ?? null };
}

/** A request that came in between waits for the wake in the engine: it is woken again at once. */
async function fallAsleep(deps: EngineDeps, engine: FoundEngine, signal: AbortSignal): Promise<OrderResult | null> {
  const client = clientOf(deps, engine);
  const until = AbortSignal.any([signal, AbortSignal.timeout(SLEEP_SECONDS_MAX * 1000)]);
  try {
    await client.sleep(until);
  } catch (error) {
    signal.throwIfAborted();
    if (!(await isStillAsleep(deps, engine))) {
      await deps.sleepers.remove(engine.instanceId);
      return failed(error instanceof EngineFailure ? error.message : `not asleep within ${SLEEP_SECONDS_MAX} s`);
    }
  }
  const load = await client.load();
  if (load === null || load.running + load.waiting === 0) return null;
  await client.wake(until);
  await deps.sleepers.remove(engine.instanceId);
  return { outcome: 'busy', running: load.running, waiting: load.waiting };
}

/** An engine that does not tell has not slept when its answer says that it failed. */
const isStillAsleep = async (deps: EngineDeps, engine: FoundEngine): Promise<boolean> =>
  (await clientOf(deps, engine).isSleeping()) ?? false;

interface Measuring {
  readonly beganMs: number;
  readonly signal: AbortSignal;
}

async function asleep(deps: EngineDeps, engine: FoundEngine, { beganMs, signal }: Measuring): Promise<OrderResult> {
  const { awakeBytes } = deps.records.of(engine.instanceId);
  let residueBytes: number | null = null;
  for (let tries = 0; tries < MEASURES_MAX && residueBytes === null; tries += 1) {
    if (tries > 0) await pause(MEASURE_PAUSE_MS, signal);
    const taken = await measure(deps, engine);
    residueBytes = residueOf(engine, awakeBytes, taken);
    if (taken === null) break;
  }
  return { outcome: 'asleep', residueBytes, hostBytes: await hostBytesOf(deps, engine), tookMs: tookSince(beganMs) };
}
