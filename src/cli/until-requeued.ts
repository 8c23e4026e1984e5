import type { Session } from '../contract/index.js';
import { hasEnded } from '../lifecycle/milestones.js';
import type { Client } from '../sdk/index.js';
import { WaitTimeoutError } from '../sdk/problem-error.js';
import { isRequeue } from './follow.js';

/**
 * The session as it ended, or as it waits again after its present attempt (or its next, if it waits now) was stopped for
 * others. What happened before does not count. Throws `WaitTimeoutError`.
 */
export async function untilEndedOrRequeued(
  { sessions }: Client,
  session: string,
  timeoutSeconds: number | undefined,
): Promise<Session> {
  const timeout = timeoutSeconds === undefined ? undefined : AbortSignal.timeout(timeoutSeconds * 1000);
  try {
    const found = await sessions.get(session, { signal: timeout });
    if (hasEnded(found)) return found;
    const past = found.state === 'PENDING' ? found.attempt : found.attempt - 1;
    for await (const event of sessions.events(found.id, { signal: timeout })) {
      if (isRequeue(event) && event.attempt > past) break;
    }
    return await sessions.get(found.id);
  } catch (error) {
    if (timeout?.aborted !== true) throw error;
    throw new WaitTimeoutError(`${session} has neither ended nor been requeued after ${timeoutSeconds} s`);
  }
}
