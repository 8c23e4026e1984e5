import type { AppCookie } from '../contract/index.js';
import type { AppRoute } from '../store/app-store.js';

/** What a request brings: the cookie of this very app, or none. */
export interface Visitor {
  readonly cookie: AppCookie | null;
  readonly nowMs: number;
}

/**
 * Whether the right that a cookie was given for still stands, by the routing table of now: a sharing that was taken back, a
 * link that was made anew or has ended, and a member who left are refused with the next request.
 */
export function mayEnter(route: AppRoute, port: string, { cookie, nowMs }: Visitor): boolean {
  const share = route.shares.find((one) => one.port === port);
  if (share?.sharing === 'public') return true;
  if (cookie === null || cookie.sessionId !== route.sessionId || cookie.port !== port) return false;
  if (cookie.exp * 1000 <= nowMs) return false;
  switch (cookie.right) {
    case 'owner':
      return cookie.userId === route.userId;
    case 'operator':
      return true;
    case 'member':
      return share?.sharing === 'project' && route.memberIds.some((id) => id === cookie.userId);
    case 'link':
      return share?.sharing === 'link' && share.linkHash === cookie.link && !hasPassed(share.expiresAt, nowMs);
  }
}

export const hasPassed = (moment: string | null, nowMs: number): boolean =>
  moment !== null && Date.parse(moment) <= nowMs;
