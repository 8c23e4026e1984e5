import type { ControlDependencies } from '../activities/control/dependencies.js';
import { reclaimIdle } from '../activities/control/reclaim-idle.js';
import { sweepSignals, sweepWorkflows } from '../activities/control/sweep.js';

const BEAT_MS = 5_000;
/** Each this many beats the slow part of the sweeper runs too. */
const SLOW_EVERY = 6;
const KEYS_EVERY = 100;
const PING_MS = 3_000;

/**
 * The control plane's own beat, outside of Temporal: the uptime mark, the sweeper, and the look at who is idle. Each has a
 * loop of its own, because a mark that waits for a long sweep would look as if the control plane had been away. Ends when
 * `signal` aborts.
 */
export async function tickUntil(
  dependencies: ControlDependencies,
  signal: AbortSignal,
  beatMs = BEAT_MS,
): Promise<void> {
  const repeat = async (work: (beat: number) => Promise<unknown>) => {
    for (let beat = 0; !signal.aborted; beat += 1) {
      await work(beat).catch((error: unknown) => {
        dependencies.log.warn({ err: error }, 'a beat of the control plane failed; the next one tries again');
      });
      await pause(beatMs, signal);
    }
  };
  await Promise.all([
    repeat(() => markUp(dependencies)),
    repeat((beat) => sweep(dependencies, beat)),
    repeat((beat) => lookForIdle(dependencies, beat)),
  ]);
}

/** Only while Temporal answers, so that its outage is not read as silence of the nodes. Throws when it does not. */
export async function markUp({ store, door }: ControlDependencies): Promise<void> {
  await door.ping(PING_MS);
  await store.control.markUp();
}

/** One worker at a time. */
async function sweep(dependencies: ControlDependencies, beat: number): Promise<void> {
  const { store, door } = dependencies;
  await door.ping(PING_MS);
  await store.control.alone('sweeper', async () => {
    await sweepSignals(dependencies);
    if (beat % SLOW_EVERY === 0) await sweepWorkflows(dependencies);
    if (beat % KEYS_EVERY === 0) await store.idempotency.sweep();
  });
}

/** One worker at a time; Temporal away is no reason to wait, since an end stands in its row. */
async function lookForIdle(dependencies: ControlDependencies, beat: number): Promise<void> {
  await dependencies.store.control.alone('idle', async () => {
    await reclaimIdle(dependencies);
    if (beat % KEYS_EVERY === 0) await dependencies.store.usage.sweep();
  });
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end); // one listener a beat would add up
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
