import type { Session } from '../contract/index.js';
import { hasEnded, hasReached, MILESTONES, type Milestone } from '../lifecycle/milestones.js';
import { WaitTimeoutError } from './problem-error.js';
import type { Transport } from './transport.js';

export const MOMENTS = MILESTONES;
export type Moment = Milestone;
export { hasEnded };

/** Of what one request of the server waits at most. */
const REQUEST_SECONDS_MAX = 30;

export interface WaitOptions {
  /** `ended` when omitted. */
  readonly for?: Moment | undefined;
  /** For ever when omitted. */
  readonly timeoutSeconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The session at that moment, or ended before it. Throws `WaitTimeoutError`. */
export async function waitFor(transport: Transport, session: string, options: WaitOptions = {}): Promise<Session> {
  const moment = options.for ?? 'ended';
  const until = performance.now() + (options.timeoutSeconds ?? Number.POSITIVE_INFINITY) * 1000;
  for (;;) {
    const left = Math.max(0, (until - performance.now()) / 1000);
    const query = { waitFor: moment, timeoutSeconds: Math.min(left, REQUEST_SECONDS_MAX) };
    const found = await transport.call('getSession', { params: { session }, query }, { signal: options.signal });
    if (hasReached(found, moment)) return found;
    if (performance.now() >= until) {
      throw new WaitTimeoutError(`${session} is ${found.state} after ${options.timeoutSeconds} s, not ${moment}`);
    }
  }
}
