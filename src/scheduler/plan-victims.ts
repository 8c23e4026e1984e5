import type { StopOrder } from '../contract/plan.js';
import type { SnapshotPending, SnapshotRunning } from '../contract/snapshot.js';
import { catchUp } from './catch-up.js';
import { type Demand, demandOf, shapeKey } from './demand.js';
import { holderOf } from './guarantee-holder.js';
import { spares } from './guarantee-reclaim.js';
import { leastOnOneNode } from './least-on-one-node.js';
import { msOf, timestampOf } from './moments.js';
import { noVictims, repeated } from './no-victims.js';
import { someMove } from './nodes-open-to.js';
import { couldHaveRoom } from './open-room.js';
import { changesOf, lowerCeilings, offerOf, whenLeft } from './preempt-offer.js';
import { type Fit, fitOf, hasRoom, type LeastSet, leastVictims } from './preempt-search.js';
import { holdText, stopText } from './preempt-text.js';
import { type NoVictims, noteRoom, type Offer, type Preemption, ruleFor, type Victims } from './preemption.js';
import type { PromisedNodes } from './promised-nodes.js';
import type { Ranking } from './ranking.js';
import { occupyIfFree } from './rooms.js';
import { isAllocated, thenOf } from './under-budgets.js';
import type { Candidate, VictimRule } from './victims.js';

/** A session's demand with its shape, as the pass worked them out. */
export interface Asked {
  readonly demand: Demand;
  readonly shape: string;
}

export interface VictimsAsked {
  readonly rule?: VictimRule | null;
  readonly closed?: PromisedNodes | null;
  readonly asked?: Asked;
}

/**
 * Whom to stop so that the session fits, and the room that is held for it; nobody where that does not suffice. The set is
 * minimal: without any one of it the session would not fit. Where those that end already make the room, nobody else
 * is stopped, and the room is held all the same. The caller carries it out: the stops go to the pass, the hold is
 * occupied. What was looked for in vain is remembered by rule and shape until a hold is dropped. `closed` nodes are left alone.
 */
export function planVictims(
  preemption: Preemption,
  session: SnapshotPending,
  { rule = ruleFor(preemption, session), closed = null, asked }: VictimsAsked = {},
): Victims | NoVictims {
  catchUp(preemption);
  if (rule === null)
    return preemption.fairShare === null ? nobody('the policy of the group stops nobody for others') : NOT_ALLOCATED;
  const demand = asked?.demand ?? demandOf(session);
  const key =
    asked === undefined
      ? JSON.stringify([
          rule.key,
          shapeKey(demand, someMove(preemption.pass.ranking.table)),
          session.avoid,
          preemption.book && holderOf(preemption.book, session),
        ])
      : `${rule.key};${closed?.key ?? ''};${asked.shape}`;
  const known = preemption.inVain.get(key);
  if (known !== undefined) return repeated(known);
  const fit = fitOf(session, demand, closed?.names);
  if (preemption.fairShare !== null && !couldHaveRoom(preemption, rule, fit.demand)) return remembered(preemption, key);
  const offer = offerOf(preemption, session, rule);
  const found = search(preemption, session, { rule, fit, offer });
  if (found === null) {
    // Under fair share the claim time says when enough may be stopped.
    const none =
      preemption.fairShare === null
        ? noVictims(preemption, session, { fit, offer, rule })
        : remembered(preemption, key);
    preemption.inVain.set(key, none);
    return none;
  }
  if (found.least.victims.length === 0 && found.awaited.length === 0) return nobody('nobody has to be stopped for it');
  noteRoom(preemption, session);
  preemption.lastHolder = session.id;
  lowerCeilings(preemption, found.least.victims, found.least.kernels);
  return victimsOf(preemption, session, { ...found, rule });
}

/**
 * Under fair share: nobody is stopped for a request that would not fit though everybody went who may be stopped by anyone. One
 * look a shape, whoever asks. null: it is to be looked at.
 */
export function noneFor(preemption: Preemption, session: SnapshotPending, { demand, shape }: Asked): NoVictims | null {
  if (preemption.fairShare === null) return null;
  if (!isAllocated(session)) return NOT_ALLOCATED;
  catchUp(preemption);
  const key = `anybody;${shape}`;
  const known = preemption.inVain.get(key);
  if (known !== undefined) return known;
  const { ceiling } = offerOf(preemption, session, ANYBODY);
  return hasRoom(ceiling, fitOf(session, demand)) ? null : remembered(preemption, key);
}

function remembered({ inVain }: Preemption, key: string): NoVictims {
  const none = nobody('it would not fit without those that it may stop now');
  inVain.set(key, none);
  return none;
}

const ANYBODY: VictimRule = { key: 'anybody', mayStop: () => true, compare: () => 0, whom: '', because: () => '' };

const nobody = (none: string): NoVictims => ({ none, earliest: null, expectedStart: { at: null, basis: none } });
const NOT_ALLOCATED = nobody('unallocated work stops nobody');

interface Look {
  readonly rule: VictimRule;
  readonly fit: Fit;
  readonly offer: Offer;
}

interface Found {
  readonly least: LeastSet<Candidate>;
  /** Those that end already, and that the room waits for too. */
  readonly awaited: readonly SnapshotRunning[];
}

function search(preemption: Preemption, session: SnapshotPending, { rule, fit, offer }: Look): Found | null {
  const { open, closed, ceiling } = offer;
  if (hasRoom(ceiling, fit)) {
    const ranking = whenLeft(preemption);
    const least = fit.demand.spread
      ? leastVictims(ranking, fit, open)
      : leastOnOneNode(ranking, fit, { offer, leaving: preemption.leaving, changes: changesOf(preemption) });
    if (least !== null) return { least, awaited: awaitedOf(preemption, ranking, least) };
  }
  if (closed.length === 0 || preemption.book === null) return null;
  // A guaranteed project lends some of its sessions, whichever: those that were not the first to be offered may serve too.
  const ranking = whenLeft(preemption);
  const least = leastVictims(ranking, fit, [...open, ...closed]);
  if (least === null || !spares(preemption.book, least.victims, { session, rule })) return null;
  return { least, awaited: awaitedOf(preemption, ranking, least) };
}

/** Of those that end already on these nodes, the ones that cannot be put back beside the held room; the last to leave is tried first. */
function awaitedOf({ leaving }: Preemption, ranking: Ranking, { kernels }: LeastSet<Candidate>): SnapshotRunning[] {
  const nodes = new Set(kernels.map(({ node }) => node));
  return [...leaving.values()]
    .filter((session) => session.kernels.some(({ node }) => nodes.has(node)))
    .toSorted((a, b) => compareGone(b, a))
    .filter((session) => !occupyIfFree(ranking, session.kernels))
    .toReversed();
}

const compareGone = (a: SnapshotRunning, b: SnapshotRunning): number =>
  (a.goneBy === null ? Infinity : msOf(a.goneBy)) - (b.goneBy === null ? Infinity : msOf(b.goneBy)) ||
  (a.id < b.id ? -1 : 1);

function victimsOf(
  preemption: Preemption,
  session: SnapshotPending,
  { least, awaited, rule }: Found & { readonly rule: VictimRule },
): Victims {
  const { nowMs, base, pass } = preemption;
  const { policy } = base.group;
  const isFairShare = preemption.fairShare !== null;
  const graceOfStop = new Map(pass.stops.map(({ sessionId, graceSeconds }) => [sessionId, graceSeconds]));
  const stops = least.victims.map(
    (victim): StopOrder => ({
      sessionId: victim.session.id,
      version: victim.session.version,
      attempt: victim.session.attempt,
      cause: 'preempted',
      forSessionId: session.id,
      then: thenOf({ policy, isFairShare }, victim.session),
      graceSeconds: victim.session.gracePeriodSeconds,
      breaksMinRuntime: false,
      message: stopText(session, victim, rule),
    }),
  );
  const goneMs = (each: SnapshotRunning): number =>
    each.goneBy === null ? nowMs + (graceOfStop.get(each.id) ?? each.gracePeriodSeconds) * 1000 : msOf(each.goneBy);
  const leaving = [...least.victims.map((victim) => victim.session), ...awaited];
  const at = timestampOf(Math.max(nowMs, ...leaving.map(goneMs)));
  const victims = leaving.map(({ id }) => id);
  return {
    stops,
    hold: { sessionId: session.id, version: session.version, victims, kernels: [...least.kernels] },
    message: holdText({ stopped: least.victims, awaited, at }),
    expectedStart: { at, basis: 'the end of the last grace period of those that leave for it' },
  };
}
