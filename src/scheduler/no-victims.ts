import type { SnapshotPending } from '../contract/snapshot.js';
import { listText } from './amount-text.js';
import { timestampOf } from './moments.js';
import { type Fit, hasRoom, occupyAll, shortestRun, vacateAll } from './preempt-search.js';
import type { NoVictims, Offer, Preemption } from './preemption.js';
import type { Ranking } from './ranking.js';
import { copyOf } from './rooms.js';
import type { Candidate, VictimRule } from './victims.js';

interface InVain {
  readonly fit: Fit;
  readonly offer: Offer;
  readonly rule: VictimRule;
}

const unknown = (none: string): NoVictims => ({ none, earliest: null, expectedStart: { at: null, basis: none } });

/**
 * Why nobody is stopped, and the first moment at which enough of the sessions have lost their protection (exact, from
 * their minimum runtimes); it starts a grace period later at the latest. null when it waits for something else.
 */
export function noVictims(preemption: Preemption, session: SnapshotPending, { fit, offer, rule }: InVain): NoVictims {
  const { open, closed, later, starting } = offer;
  const sessions = (count: number): string => `${count} session${count === 1 ? '' : 's'} ${rule.whom}`;
  if (open.length + later.length + starting.length === 0) {
    const kept = closed.length === 0 ? '' : `; ${closed.length} are within what their projects are guaranteed`;
    return unknown(`there are no sessions ${rule.whom} that could be stopped for it${kept}`);
  }
  const ranking = copyOf(offer.ceiling);
  const count = later.length === 0 ? null : runOfLater(ranking, fit, later);
  const last = count === null ? undefined : later[count - 1];
  if (count !== null && last?.fromMs != null) {
    const grace = longestGrace([...open, ...later.slice(0, count)]);
    const earliest = timestampOf(last.fromMs);
    const text = `${sessions(later.length)} within minimum runtimes: enough may be stopped from ${earliest} on`;
    const at = timestampOf(Math.max(preemption.nowMs, last.fromMs) + grace * 1000);
    return { none: text, earliest, expectedStart: { at, basis: `${text}; grace periods take up to ${grace} s` } };
  }
  vacateAll(ranking, starting);
  if (starting.length > 0 && hasRoom(ranking, fit)) {
    const names = listText(starting.slice(0, 3).map((candidate) => candidate.session.name));
    const more = starting.length > 3 ? ` and ${starting.length - 3} more` : '';
    return unknown(
      `${names}${more} would have to be stopped for ${session.name}, and their minimum runtimes begin when they run`,
    );
  }
  const all = open.length + later.length + starting.length;
  return unknown(`it would not fit even without the ${sessions(all)}`);
}

/** How many of those that are still protected have to go besides; they have left the ranking then, all of them when null. */
function runOfLater(ranking: Ranking, fit: Fit, later: readonly Candidate[]): number | null {
  vacateAll(ranking, later);
  if (!hasRoom(ranking, fit)) return null;
  occupyAll(ranking, later);
  return shortestRun(ranking, fit, later);
}

/** For another session like one before it in the pass: it waits for the same, but the room is the other's first. */
export const repeated = ({ none, earliest }: NoVictims): NoVictims => ({
  none,
  earliest,
  expectedStart: {
    at: null,
    basis: earliest === null ? none : `one like it, ahead of it, waits for the same room: ${none}`,
  },
});

const longestGrace = (candidates: readonly Candidate[]): number =>
  Math.max(0, ...candidates.map(({ session }) => session.gracePeriodSeconds));
