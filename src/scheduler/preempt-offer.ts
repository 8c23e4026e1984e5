import type { SnapshotPending } from '../contract/snapshot.js';
import { holderOf } from './guarantee-holder.js';
import { shelter } from './guarantee-reclaim.js';
import { occupyAll, vacateAll } from './preempt-search.js';
import type { Offer, Preemption, Ranked, WhenLeft } from './preemption.js';
import type { Ranking } from './ranking.js';
import { copyOf, type Room } from './rooms.js';
import type { Candidate, VictimRule } from './victims.js';

/** Offers that are kept at a time; each keeps a copy of the table. */
const OFFERS_MAX = 32;

/** What is left once those are gone that end already, and everybody has the room that is held for him: a copy of one's own. */
export function whenLeft(preemption: Preemption): Ranking {
  const ranking = leftRanking(preemption);
  // Who runs where, of a replica group, is what the pass says.
  return copyOf({ ...ranking, replicas: preemption.pass.ranking.replicas });
}

/** The same, to be looked at only. */
export const leftRanking = (preemption: Preemption): Ranking =>
  (preemption.whenLeft ??= newWhenLeft(preemption)).ranking;

/** How often each node changed in what `whenLeft` copies. */
export const changesOf = (preemption: Preemption): Int32Array =>
  (preemption.whenLeft ??= newWhenLeft(preemption)).changes;

function newWhenLeft({ pass, leaving }: Preemption): WhenLeft {
  const ranking = { ...copyOf(pass.ranking), lists: undefined, isScratch: true };
  vacateAll(
    ranking,
    [...leaving.values()].map((session) => ({ session })),
  );
  for (const { kernels, kept } of pass.heldRooms.values()) {
    vacateAll(ranking, [{ session: { kernels: kept } }]);
    occupyAll(ranking, [{ session: { kernels } }]);
  }
  return { ranking, holders: new Set(pass.heldRooms.keys()), changes: new Int32Array(ranking.table.nodes.length) };
}

/** Whom the session may stop, now and later. Kept by rule, and by project where projects are sheltered. */
export function offerOf(preemption: Preemption, session: SnapshotPending, rule: VictimRule): Offer {
  const key = preemption.book === null ? rule.key : `${rule.key}|${holderOf(preemption.book, session)}`;
  const known = preemption.offers.get(key);
  if (known !== undefined) {
    const current = known.asOf === preemption.leaving.size ? known : withoutLeaving(known, preemption.leaving);
    preemption.offers.set(key, current);
    return current;
  }
  if (preemption.offers.size >= OFFERS_MAX) preemption.offers.clear();
  const offer = newOffer(preemption, session, rule);
  preemption.offers.set(key, offer);
  return offer;
}

function withoutLeaving(offer: Offer, leaving: Preemption['leaving']): Offer {
  const stay = (candidates: readonly Candidate[]): readonly Candidate[] =>
    candidates.filter(({ session }) => !leaving.has(session.id));
  const { open, closed, later, starting } = offer;
  return {
    ...offer,
    asOf: leaving.size,
    open: stay(open),
    closed: stay(closed),
    later: stay(later),
    starting: stay(starting),
  };
}

/** What was found for one is no room for the next: the ceilings come down by the hold, and up by whom they did not count on. */
export function lowerCeilings({ offers }: Preemption, victims: readonly Candidate[], kernels: readonly Room[]): void {
  for (const { counted, ceiling } of offers.values()) {
    vacateAll(
      ceiling,
      victims.filter((victim) => !counted.has(victim)),
    );
    occupyAll(ceiling, [{ session: { kernels } }]);
  }
}

function newOffer(preemption: Preemption, session: SnapshotPending, rule: VictimRule): Offer {
  const { nowMs, book, leaving } = preemption;
  const isPast = ({ fromMs }: Candidate): boolean => fromMs !== null && fromMs <= nowMs;
  if (preemption.fairShare !== null) return offerOfOpen(preemption, openByRank(preemption, rule, isPast));
  const stoppable = preemption.candidates
    .filter((candidate) => rule.mayStop(candidate) && !leaving.has(candidate.session.id))
    .toSorted(rule.compare);
  const { open, closed } = shelter(book, stoppable.filter(isPast), { session, rule });
  const stillProtected = stoppable.filter(({ fromMs }) => fromMs !== null && fromMs > nowMs);
  const inTime = stillProtected.toSorted((a, b) => (a.fromMs ?? 0) - (b.fromMs ?? 0));
  const starting = stoppable.filter(({ fromMs }) => fromMs === null);
  const sheltered = shelter(book, [...open, ...inTime, ...starting], { session, rule }).open.slice(open.length);
  return {
    ...offerOfOpen(preemption, open),
    closed,
    later: sheltered.filter(({ fromMs }) => fromMs !== null),
    starting: sheltered.filter(({ fromMs }) => fromMs === null),
  };
}

function offerOfOpen(preemption: Preemption, open: readonly Candidate[]): Offer {
  const ceiling = whenLeft(preemption);
  vacateAll(ceiling, open);
  return {
    open,
    closed: [],
    later: [],
    starting: [],
    ceiling,
    counted: new Set(open),
    openOn: byNode(open),
    runs: new Map(),
    asOf: preemption.leaving.size,
  };
}

/**
 * Under fair share, where the candidates come by their start and the claim time says who may be stopped later: those that may be
 * stopped now, by rank.
 */
function openByRank(
  { candidates, leaving }: Preemption,
  { rankOf = () => 0, mayStop }: VictimRule,
  isPast: (candidate: Candidate) => boolean,
): readonly Candidate[] {
  const byRank = new Map<number, Candidate[]>();
  for (const candidate of candidates) {
    if (!isPast(candidate) || !mayStop(candidate) || leaving.has(candidate.session.id)) continue;
    const rank = rankOf(candidate);
    const known = byRank.get(rank);
    if (known === undefined) byRank.set(rank, [candidate]);
    else known.push(candidate);
  }
  return [...byRank].toSorted(([a], [b]) => a - b).flatMap(([, same]) => same);
}

function byNode(candidates: readonly Candidate[]): Offer['openOn'] {
  const on = new Map<string, Ranked[]>();
  for (const [rank, candidate] of candidates.entries()) {
    const ranked = { candidate, rank };
    for (const name of new Set(candidate.session.kernels.map(({ node }) => node))) {
      const known = on.get(name);
      if (known === undefined) on.set(name, [ranked]);
      else known.push(ranked);
    }
  }
  return on;
}
