import type { Containers } from '../docker/containers.js';
import type { Logger } from '../platform/log.js';
import type { Contact } from './contact.js';
import { listKernels } from './inventory.js';
import { type KernelContainer, runKey } from './kernel-container.js';
import type { Marks } from './marks.js';
import type { Notices } from './notice.js';
import { pause } from './retry.js';

export interface ContactGuardDeps {
  readonly node: string;
  readonly containers: Pick<Containers, 'list' | 'inspect' | 'kill'>;
  readonly contact: Contact;
  readonly notices: Notices;
  /** Runs that were ended because nobody could be reached: the platform's failure, whatever they exit with. */
  readonly cuts: Marks;
  readonly log: Logger;
  readonly everyMs?: number;
}

const EVERY_MS_DEFAULT = 5_000;
/** The ledger waits for longer than the limit, but not for an hour of grace. */
const GRACE_SECONDS_MAX = 30;
const LOOK_MS = 250;

/**
 * Stops each container that may be started elsewhere once the node has been out of contact for that container's limit,
 * which lies before the moment when the ledger does so: two runs must never write one folder. What is not retryable runs
 * on. The container stays, and its exit is told when contact returns.
 */
export async function guardContact(deps: ContactGuardDeps, signal: AbortSignal): Promise<void> {
  const { everyMs = EVERY_MS_DEFAULT } = deps;
  const stopping = new Set<string>();
  while (!signal.aborted) {
    await pause(everyMs, signal);
    if (signal.aborted || deps.contact.silentMs() < everyMs) continue;
    try {
      for (const kernel of await overdue(deps)) {
        const key = runKey(kernel);
        if (stopping.has(key)) continue;
        stopping.add(key);
        void cutOff(deps, kernel)
          .catch((error: unknown) => deps.log.warn({ err: error, key }, 'a container could not be stopped; again'))
          .finally(() => stopping.delete(key));
      }
    } catch (error) {
      deps.log.warn({ err: error }, 'out of contact, and the engine does not list its containers; again');
    }
  }
}

async function overdue({ containers, node, contact }: ContactGuardDeps): Promise<readonly KernelContainer[]> {
  const kernels = await listKernels(containers, node);
  const silentMs = contact.silentMs(); // after the listing: contact may have returned meanwhile
  return kernels.filter(
    ({ state, contactLimitSeconds: limit }) => state === 'running' && limit !== undefined && silentMs >= limit * 1000,
  );
}

/** Contact that returns within the grace changes nothing: the program was told to end. */
async function cutOff(deps: ContactGuardDeps, kernel: KernelContainer): Promise<void> {
  const { kernelId, attempt, name, graceSeconds } = kernel;
  const graceMs = Math.min(graceSeconds, GRACE_SECONDS_MAX) * 1000;
  deps.log.error({ kernelId, attempt, silentMs: Math.round(deps.contact.silentMs()) }, 'out of contact: it is stopped');
  await deps.cuts.add(runKey(kernel));
  if (graceMs > 0) await deps.notices.give({ attempt, kernelIds: [kernelId], graceMs });
  const until = performance.now() + graceMs;
  while (performance.now() < until) {
    if ((await deps.containers.inspect(name))?.status !== 'running') return;
    await pause(LOOK_MS);
  }
  await deps.containers.kill(name, 'SIGKILL');
}
