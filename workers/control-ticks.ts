import type { ControlDependencies } from '../activities/control/dependencies.js';
import { sweepSignals, sweepWorkflows } from '../activities/control/sweep.js';

const BEAT_MS = 5_000;
/** Each this many beats the slow part of the sweeper runs too. */
const SLOW_EVERY = 6;
const PING_MS = 3_000;

/**
 * The control plane's own beat, outside of Temporal: the uptime mark (only while Temporal answers, so that its outage is
 * not read as silence of the nodes) and the sweeper, which one worker at a time runs.
 */
export async function tickUntil(dependencies: ControlDependencies, signal: AbortSignal): Promise<void> {
  for (let beat = 0; !signal.aborted; beat += 1) {
    await tick(dependencies, beat).catch((error: unknown) => {
      dependencies.log.warn({ err: error }, 'a beat of the control plane failed; the next one tries again');
    });
    await pause(BEAT_MS, signal);
  }
}

async function tick(dependencies: ControlDependencies, beat: number): Promise<void> {
  const { store, door } = dependencies;
  await door.ping(PING_MS);
  await store.control.markUp();
  await store.control.alone('sweeper', async () => {
    await sweepSignals(dependencies);
    if (beat % SLOW_EVERY === 0) await sweepWorkflows(dependencies);
    if (beat % 100 === 0) await store.idempotency.sweep();
  });
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
