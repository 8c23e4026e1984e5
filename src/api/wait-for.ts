import type { Principal, Session } from '../contract/index.js';
import { hasReached, type Milestone } from '../lifecycle/milestones.js';
import type { ApiDeps } from './deps.js';
import { seeSession } from './see-session.js';

/** A notification may be lost: without one the session is read again after this. */
export const REREAD_MS = 1_000;

export interface Wait {
  readonly idOrName: string;
  readonly milestone: Milestone;
  readonly timeoutMs: number;
  readonly viewer: Principal;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}

/** The session once it has reached the milestone, or as it is at the timeout. Reads first, so a past milestone answers at once. */
export async function waitFor({ store, feed }: Pick<ApiDeps, 'store' | 'feed'>, wait: Wait): Promise<Session> {
  const deadline = Date.now() + wait.timeoutMs;
  let session = await seeSession(store.sessions, wait.idOrName, wait.viewer);
  while (!hasReached(session, wait.milestone) && !wait.signal.aborted) {
    const leftMs = deadline - Date.now();
    if (leftMs <= 0) break;
    const news = feed.next(session.id, Math.min(leftMs, REREAD_MS), wait.signal);
    session = await seeSession(store.sessions, session.id, wait.viewer);
    if (hasReached(session, wait.milestone)) break;
    await news;
    session = await seeSession(store.sessions, session.id, wait.viewer);
  }
  return session;
}
