import type { Session } from '../contract/index.js';
import { WaitTimeoutError } from './problem-error.js';
import type { Transport } from './transport.js';

export const MOMENTS = ['admitted', 'placed', 'running', 'healthy', 'ended'] as const;
export type Moment = (typeof MOMENTS)[number];

const ENDED: readonly Session['state'][] = ['TERMINATED', 'CANCELLED', 'ERROR'];
export const hasEnded = (session: Pick<Session, 'state'>): boolean => ENDED.includes(session.state);

/** Of what one request of the server waits at most. */
const REQUEST_SECONDS_MAX = 30;

export interface WaitOptions {
  /** `ended` when omitted. */
  readonly for?: Moment | undefined;
  /** For ever when omitted. */
  readonly timeoutSeconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Whether the moment has come. A session that ended has no later moment: waiting for one ends, too. */
export function hasCome(moment: Moment, session: Pick<Session, 'state' | 'health' | 'placedAt'>): boolean {
  if (hasEnded(session)) return true;
  if (moment === 'admitted') return session.state !== 'SUBMITTED';
  if (moment === 'placed') return session.state !== 'SUBMITTED' && session.state !== 'PENDING';
  if (moment === 'running') return session.state === 'RUNNING';
  if (moment === 'healthy')
    return session.state === 'RUNNING' && (session.health === 'healthy' || session.health === 'none');
  return false;
}

/** The session at that moment, or ended before it. Throws `WaitTimeoutError`. */
export async function waitFor(transport: Transport, session: string, options: WaitOptions = {}): Promise<Session> {
  const moment = options.for ?? 'ended';
  const until = performance.now() + (options.timeoutSeconds ?? Number.POSITIVE_INFINITY) * 1000;
  for (;;) {
    const left = Math.max(0, (until - performance.now()) / 1000);
    const query = { waitFor: moment, timeoutSeconds: Math.min(left, REQUEST_SECONDS_MAX) };
    const found = await transport.call('getSession', { params: { session }, query }, { signal: options.signal });
    if (hasCome(moment, found)) return found;
    if (performance.now() >= until) {
      throw new WaitTimeoutError(`${session} is ${found.state} after ${options.timeoutSeconds} s, not ${moment}`);
    }
  }
}
